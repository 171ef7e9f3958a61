import { type Domain, domainSchema, type Link } from '@waymark/contract';
import { stoppingClient } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import {
  type Answer,
  aCaller,
  type Caller,
  DEFAULT_DOMAIN,
  startManagement,
  statusesOf,
  type TestManagement,
  withKey,
} from '../test-management.js';

let management: TestManagement;
let acme: Caller;
let next = 0;

beforeAll(async () => {
  management = await startManagement();
  acme = await aCaller(management);
});
afterAll(() => management.close());

const codeOf = ({ status, body }: Answer<{ error?: { code: string } }>) => [status, body.error?.code];
/** A data URL with that many groups of four characters. */
const logoOf = (groups: number) => `data:image/png;base64,${'AAAA'.repeat(groups)}`;
const aSlug = () => `d${next++}.${acme.host}`;
const create = (caller: Caller, body: unknown) => caller.call<Domain>('POST', '/domains', body);
const slugsOf = async (caller: Caller) =>
  (await caller.call<Domain[]>('GET', '/domains?archived=true')).body.map(({ slug }) => slug);
const findLink = (caller: Caller, domain: string, key = '_root') =>
  caller.call<Link>('GET', `/links/info?domain=${domain}&key=${key}`);

describe('POST /domains', () => {
  it('answers 201 with the domain in lower case, and creates its root link', async () => {
    const slug = aSlug();
    const { status, body } = await create(acme, { slug: ` ${slug.toUpperCase()}`, placeholder: null });
    expect(status).toBe(201);
    expect(domainSchema.parse(body)).toMatchObject({ slug, verified: true, primary: false, archived: false });
    expect((await findLink(acme, slug)).body).toMatchObject({ domain: slug, key: '_root', url: '' });
  });

  it('stores all fields, empty texts as null', async () => {
    const files = { assetLinks: '[{"a":1}]', appleAppSiteAssociation: '{}' };
    const urls = { expiredUrl: 'acme.com/expired', notFoundUrl: '', placeholder: 'https://acme.com' };
    const logo = 'data:image/png;base64,iVBORw0KGgo=';
    const { body } = await create(acme, { slug: aSlug(), ...files, ...urls, logo, archived: true });
    expect(body).toMatchObject({
      ...files,
      logo,
      archived: true,
      expiredUrl: 'https://acme.com/expired',
      notFoundUrl: null,
    });
  });

  it.each([
    ['no slug', {}, 400],
    ['a slug of the wrong type', { slug: 7 }, 400],
    ['no domain name', { slug: 'nonsense' }, 422],
    ['an address', { slug: 'https://acme.com' }, 422],
    ...[
      'x.acme.com/a',
      'x.acme.com?a',
      'x.acme.com#a',
      'x.acme.com\\a',
      'x%71.acme.com',
      'x.ac\nme.com',
      'a@x.acme.com',
    ].map((slug): [string, object, number] => [`the text ${JSON.stringify(slug)}`, { slug }, 422]),
    ['www.', { slug: 'www.acme.com' }, 422],
    ['a label of hyphens', { slug: '-.acme.com' }, 422],
    ['a placeholder of 101 characters', { slug: 'x.acme.com', placeholder: `https://a.com/${'x'.repeat(87)}` }, 422],
    ['a placeholder of 101 with https://', { slug: 'x.acme.com', placeholder: `a.com/${'x'.repeat(87)}` }, 422],
    ['a placeholder of 100 with https://', { slug: 'hundred.acme.com', placeholder: `a.com/${'x'.repeat(86)}` }, 201],
    ['a text that is no URL', { slug: 'x.acme.com', notFoundUrl: 'no url' }, 422],
    ['a file that is no JSON', { slug: 'x.acme.com', assetLinks: '{' }, 422],
    ['a logo that codes are not drawn with', { slug: 'jpeg.acme.com', logo: 'data:image/jpeg;base64,/9j/4AAQ' }, 201],
    ['a logo of 99,998 characters', { slug: 'logo.acme.com', logo: logoOf(24_994) }, 201],
    ['a logo of 100,002 characters', { slug: 'x.acme.com', logo: logoOf(24_995) }, 422],
    ['a logo that is no image', { slug: 'x.acme.com', logo: 'javascript:alert(1)' }, 422],
  ])('%s answers %i', async (_what, body, status) => {
    expect((await create(acme, body)).status).toBe(status);
  });

  it('conflicts with a slug that is in use anywhere, or shared by all', async () => {
    const stranger = await aCaller(management);
    expect(codeOf(await create(acme, { slug: stranger.host }))).toEqual([409, 'conflict']);
    expect(codeOf(await create(acme, { slug: DEFAULT_DOMAIN }))).toEqual([409, 'conflict']);
  });

  it('answers 409 for the host of the default domain, which has a port', async () => {
    const other = await startManagement(Date.now, { defaultDomain: 'go.example.com:8443' }, management);
    onTestFinished(() => other.close());
    const caller = await aCaller(other);
    expect(codeOf(await create(caller, { slug: 'go.example.com' }))).toEqual([409, 'conflict']);
    const renamed = await caller.call<{ error?: { code: string } }>('PATCH', `/domains/${caller.host}`, {
      slug: 'go.example.com',
    });
    expect(codeOf(renamed)).toEqual([409, 'conflict']);
  });

  it('a change that repeats the slug is accepted, also if the default domain got a port since', async () => {
    const other = await startManagement(Date.now, { defaultDomain: 'own.example.com:8443' }, management);
    onTestFinished(() => other.close());
    const caller = await aCaller(other);
    await other.catalog.domains.create(caller.workspaceId, { slug: 'own.example.com' });
    const body = { slug: 'own.example.com', archived: true };
    const changed = await caller.call<Domain>('PATCH', '/domains/own.example.com', body);
    expect([changed.status, changed.body.archived]).toEqual([200, true]);
  });

  it('succeeds for one of 60 concurrent requests of two workspaces for one name', async () => {
    const stranger = await aCaller(management);
    const slug = aSlug();
    let turn = 0;
    expect(await statusesOf(60, () => create(turn++ % 2 ? acme : stranger, { slug }))).toEqual({ 201: 1, 409: 59 });
  });

  it('makes one of several concurrently created first domains primary', async () => {
    const caller = await aCaller(management, 'enterprise', false);
    await Promise.all(Array.from({ length: 4 }, () => create(caller, { slug: aSlug() })));
    const { body } = await caller.call<Domain[]>('GET', '/domains');
    expect(body.map(({ primary }) => primary).sort()).toEqual([false, false, false, true]);
  });

  it('enforces the plan: the number of domains, and features from pro on', async () => {
    const free = await aCaller(management, 'free');
    expect(codeOf(await create(free, { slug: aSlug(), notFoundUrl: 'https://acme.com' }))).toEqual([403, 'forbidden']);
    expect(await statusesOf(4, () => create(free, { slug: aSlug() }))).toEqual({ 201: 2, 403: 2 });
  });

  const url = 'https://acme.com';
  it.each([
    ['logo', { logo: url }],
    ['expiredUrl', { expiredUrl: url }],
    ['notFoundUrl', { notFoundUrl: url }],
    ['assetLinks', { assetLinks: '[]' }],
    ['appleAppSiteAssociation', { appleAppSiteAssociation: '{}' }],
  ])('%s needs the plan pro; a workspace that has left it can clear the field', async (field, fields) => {
    const caller = await aCaller(management, 'pro');
    const change = (body: object) => caller.call<Domain>('PATCH', `/domains/${caller.host}`, body);
    expect((await change(fields)).body).toMatchObject(fields);
    await management.catalog.workspaces.update(caller.workspaceId, { plan: 'free' });
    const refusal = { status: 403, body: { error: { message: `"${field}" needs the plan pro or higher.` } } };
    expect(await create(caller, { slug: aSlug(), ...fields })).toMatchObject(refusal);
    expect(await change(fields)).toMatchObject(refusal);
    expect((await change({ archived: false })).body).toMatchObject(fields);
    for (const empty of [null, '']) {
      expect(await change({ [field]: empty })).toMatchObject({ status: 200, body: { [field]: null } });
      expect((await create(caller, { slug: aSlug(), [field]: empty })).status).toBe(201);
    }
  });

  it('a value that is invalid is refused before the plan, and before the domain is looked up', async () => {
    const free = await aCaller(management, 'free');
    expect((await create(free, { slug: 'nonsense', logo: url })).status).toBe(422);
    for (const domain of ['none.example', acme.host]) {
      expect((await free.call('PATCH', `/domains/${domain}`, { assetLinks: '{' })).status).toBe(422);
    }
  });
});

describe('PATCH /domains/{slug}', () => {
  it('changes given fields and clears those that are null', async () => {
    const slug = aSlug();
    const { body: made } = await create(acme, {
      slug,
      expiredUrl: 'https://acme.com/x',
      notFoundUrl: 'https://acme.com/n',
    });
    const { body } = await acme.call<Domain>('PATCH', `/domains/${slug.toUpperCase()}`, {
      expiredUrl: null,
      archived: true,
    });
    expect(body).toEqual({ ...made, expiredUrl: null, archived: true, updatedAt: body.updatedAt });
  });

  it('with another slug moves every link, and releases the old slug', async () => {
    const [from, to] = [aSlug(), aSlug()];
    await create(acme, { slug: from });
    const link = { domain: from, key: 'Moved', url: 'https://acme.com', externalId: 'moved-1' };
    const { id } = await management.catalog.links.create(acme.workspaceId, link);
    expect((await acme.call<Domain>('PATCH', `/domains/${from}`, { slug: to })).body.slug).toBe(to);
    const { body } = await findLink(acme, to, 'moved');
    expect(body).toMatchObject({ id, domain: to, key: 'Moved', shortLink: `https://${to}/Moved` });
    expect((await findLink(acme, to)).status).toBe(200);
    expect((await findLink(acme, from, 'moved')).status).toBe(404);
    expect((await acme.call('PATCH', `/domains/${from}`, {})).status).toBe(404);
    const stranger = await aCaller(management);
    expect((await create(stranger, { slug: from })).status).toBe(201);
    expect((await findLink(stranger, from)).status).toBe(200);
  });

  it('with a slug in use answers 409 and moves nothing; an unknown domain 404, another workspace’s 403', async () => {
    const slug = aSlug();
    await create(acme, { slug });
    const stranger = await aCaller(management);
    expect(codeOf(await acme.call('PATCH', `/domains/${slug}`, { slug: stranger.host }))).toEqual([409, 'conflict']);
    expect((await findLink(acme, slug)).status).toBe(200);
    expect(codeOf(await acme.call('PATCH', '/domains/none.example', {}))).toEqual([404, 'not_found']);
    expect(codeOf(await acme.call('PATCH', `/domains/${stranger.host}`, {}))).toEqual([403, 'forbidden']);
  });
});

describe('POST /domains/{slug}/primary', () => {
  it('leaves exactly one primary domain after concurrent requests', async () => {
    const caller = await aCaller(management);
    const slugs = [aSlug(), aSlug(), aSlug()];
    for (const slug of slugs) await create(caller, { slug });
    const primary = (slug = '') => caller.call<Domain>('POST', `/domains/${slug}/primary`);
    expect((await primary(slugs[0])).body).toMatchObject({ slug: slugs[0], primary: true });
    await Promise.all(slugs.map((slug) => primary(slug)));
    const { body } = await caller.call<Domain[]>('GET', '/domains');
    expect(body.filter((domain) => domain.primary)).toHaveLength(1);
  });
});

describe('an international domain', () => {
  it('is accepted in its own script and any case wherever a domain is expected', async () => {
    const name = `Bücher${next++}.${acme.host}`;
    const { body: made } = await create(acme, { slug: name });
    expect(made.slug).toMatch(/^xn--/);
    const inUpperCase = name.toUpperCase();
    const { status, body: link } = await acme.post({ url: 'https://acme.com', domain: inUpperCase, key: 'k' });
    expect([status, link.domain]).toEqual([200, made.slug]);
    const named = encodeURIComponent(inUpperCase);
    expect((await findLink(acme, named, 'k')).body.id).toBe(link.id);
    const listed = await acme.call<Link[]>('GET', `/links?domain=${named}`);
    expect(listed.body.map(({ key }) => key)).toEqual(['k', '_root']);
    expect((await acme.call<number>('GET', `/links/count?domain=${named}`)).body).toBe(2);
    const { body: moved } = await acme.post({ url: 'https://acme.com', key: `move-${made.id}` });
    expect((await acme.call<Link>('PATCH', `/links/${moved.id}`, { domain: name })).body.domain).toBe(made.slug);
    const twice = [name, made.slug].map((domain) => ({ url: 'https://acme.com', domain, key: 'twice' }));
    expect(codeOf(await acme.call('POST', '/links/bulk', twice))).toEqual([400, 'bad_request']);
    const path = `/domains/${named}`;
    expect((await acme.call<Domain>('POST', `${path}/primary`)).body).toMatchObject({ slug: made.slug });
    expect((await acme.call<Domain>('PATCH', path, { archived: true })).body).toMatchObject({ archived: true });
    expect(await acme.call('DELETE', path)).toEqual({ status: 200, body: { slug: made.slug } });
  });
});

describe('links without a domain', () => {
  it('are created on the current primary domain', async () => {
    const caller = await aCaller(management);
    const [second, renamed] = [aSlug(), aSlug()];
    await create(caller, { slug: second });
    const domainOfNext = async () => (await caller.post({ url: 'https://acme.com' })).body.domain;
    expect(await domainOfNext()).toBe(caller.host);
    await caller.call('POST', `/domains/${second}/primary`);
    expect(await domainOfNext()).toBe(second);
    await caller.call('PATCH', `/domains/${second}`, { slug: renamed });
    expect(await domainOfNext()).toBe(renamed);
    await caller.call('DELETE', `/domains/${renamed}`);
    expect(await domainOfNext()).toBe(caller.host);
  });

  it('skip an archived domain, which cannot become the primary one', async () => {
    const caller = await aCaller(management);
    const second = aSlug();
    await create(caller, { slug: second });
    const domainOfNext = async () => (await caller.post({ url: 'https://acme.com' })).body.domain;
    await caller.call('PATCH', `/domains/${caller.host}`, { archived: true });
    expect(await domainOfNext()).toBe(second);
    const refused = await caller.call('POST', `/domains/${caller.host}/primary`);
    expect(refused).toMatchObject({ status: 422, body: { error: { code: 'unprocessable_entity' } } });
    await caller.call('PATCH', `/domains/${second}`, { archived: true });
    expect(await domainOfNext()).toBe(DEFAULT_DOMAIN);
    await caller.call('PATCH', `/domains/${caller.host}`, { archived: false });
    expect(await domainOfNext()).toBe(caller.host);
  });
});

describe('DELETE /domains/{slug}', () => {
  it('deletes the domain with its links, and releases slug, keys and external ids', async () => {
    const slug = aSlug();
    await create(acme, { slug });
    const link = { domain: slug, key: 'gone', url: 'https://acme.com', externalId: 'gone-1' };
    await management.catalog.links.create(acme.workspaceId, link);
    expect(await acme.call('DELETE', `/domains/${slug}`)).toEqual({ status: 200, body: { slug } });
    expect((await findLink(acme, slug, 'gone')).status).toBe(404);
    expect((await findLink(acme, slug)).status).toBe(404);
    expect(codeOf(await acme.call('DELETE', `/domains/${slug}`))).toEqual([404, 'not_found']);
    const stranger = await aCaller(management);
    expect((await create(stranger, { slug })).status).toBe(201);
    const { links } = management.catalog;
    expect(await links.create(stranger.workspaceId, link)).toMatchObject(link);
    expect(await links.create(acme.workspaceId, { ...link, domain: acme.host })).toMatchObject({ key: 'gone' });
  });

  it('leaves no link that is created on the domain, or moved to it, meanwhile', async () => {
    const { body: other } = await acme.post({ url: 'https://acme.com' });
    for (let round = 0; round < 5; round++) {
      const slug = aSlug();
      await create(acme, { slug });
      const link = (key: string) => ({ url: 'https://acme.com', domain: slug, key });
      const links = (prefix: string) => [1, 2, 3, 4].map((number) => link(`${prefix}-${number}`));
      const [removed, ...stored] = await Promise.all([
        acme.call('DELETE', `/domains/${slug}`),
        ...links('one').map((body) => acme.post(body)),
        acme.call('POST', '/links/bulk', links('bulk')),
        acme.call('PATCH', `/links/${other.id}`, { domain: slug }),
        acme.call('PUT', '/links/upsert', link('upsert')),
      ]);
      expect(removed.status).toBe(200);
      expect(stored.map(({ status }) => status).filter((status) => ![200, 403, 404].includes(status))).toEqual([]);
      const listed = await acme.call<Link[]>('GET', '/links?search=acme.com&showArchived=true&pageSize=100');
      expect(listed.body.filter(({ domain }) => domain === slug)).toEqual([]);
    }
  });

  it('completes a removal that was interrupted, although it answers 404', async () => {
    const slug = aSlug();
    await create(acme, { slug });
    const isSearch = (text: string) => text.startsWith('SELECT id FROM links ');
    const process = stoppingClient(management.database.client, { statement: isSearch, nth: 2 });
    const database = { ...management.database, client: process.client };
    const interrupted = await startManagement(Date.now, {}, { database, server: management.server });
    onTestFinished(() => interrupted.close());
    const path = `/domains/${slug}`;
    const headers = { authorization: `Bearer ${acme.token}` };
    const answer = interrupted.app.inject({ method: 'DELETE', url: path, headers });
    await process.stopped;
    process.kill();
    expect((await answer).statusCode).toBe(500);
    expect((await findLink(acme, slug)).status).toBe(200);
    expect(codeOf(await acme.call('DELETE', path))).toEqual([404, 'not_found']);
    expect((await findLink(acme, slug)).status).toBe(404);
  });

  it('leaves the links on a domain that all workspaces share, also if it was one of the workspace before', async () => {
    const shared = aSlug();
    const other = await startManagement(Date.now, { defaultDomain: shared }, management);
    onTestFinished(() => other.close());
    const caller = await aCaller(other);
    const { body: link } = await caller.post({ url: 'https://acme.com', key: `moved-${next}` });
    await other.catalog.domains.create(caller.workspaceId, { slug: shared });
    expect((await caller.call('DELETE', `/domains/${shared}`)).status).toBe(200);
    expect((await caller.call<Link>('PATCH', `/links/${link.id}`, { domain: shared })).body.domain).toBe(shared);
    expect(codeOf(await caller.call('DELETE', `/domains/${shared}`))).toEqual([404, 'not_found']);
    expect((await caller.get(`/links/${link.id}`)).status).toBe(200);
  });

  it('makes the oldest other domain primary when the primary one is deleted; another workspace’s answers 403', async () => {
    const caller = await aCaller(management);
    const [second, third] = [aSlug(), aSlug()];
    for (const slug of [second, third]) await create(caller, { slug });
    expect(codeOf(await acme.call('DELETE', `/domains/${caller.host}`))).toEqual([403, 'forbidden']);
    await caller.call('POST', `/domains/${third}/primary`);
    expect((await caller.call('DELETE', `/domains/${third}`)).status).toBe(200);
    const { body } = await caller.call<Domain[]>('GET', '/domains');
    expect(body.map(({ slug, primary }) => [slug, primary])).toEqual([
      [caller.host, true],
      [second, false],
    ]);
    expect(await slugsOf(caller)).toEqual([caller.host, second]);
    const { body: sorted } = await caller.get<Domain[]>('/domains?sortBy=slug');
    expect(sorted.map(({ slug }) => slug)).toEqual([caller.host, second].sort());
  });

  it('makes an archived domain primary only if all others are archived', async () => {
    const caller = await aCaller(management);
    const [second, third] = [aSlug(), aSlug()];
    for (const slug of [second, third]) await create(caller, { slug });
    const archive = (slug: string, archived: boolean) => caller.call('PATCH', `/domains/${slug}`, { archived });
    const primary = async () => {
      const { body } = await caller.call<Domain[]>('GET', '/domains?archived=true');
      return body.filter((domain) => domain.primary).map(({ slug }) => slug);
    };
    await archive(caller.host, true);
    await caller.call('POST', `/domains/${third}/primary`);
    await caller.call('DELETE', `/domains/${third}`);
    expect(await primary()).toEqual([second]);
    await archive(caller.host, false);
    expect((await caller.post({ url: 'https://acme.com' })).body.domain).toBe(second);
    await archive(caller.host, true);
    await caller.call('DELETE', `/domains/${second}`);
    expect(await primary()).toEqual([caller.host]);
  });

  it('answers 403 for the domain of the partner program, even before it has links', async () => {
    const caller = await aCaller(management);
    expect(codeOf(await caller.call('DELETE', `/domains/${caller.host}`))).toEqual([403, 'forbidden']);
    expect(await slugsOf(caller)).toEqual([caller.host]);
    const moved = aSlug();
    await caller.call('PATCH', `/domains/${caller.host}`, { slug: moved });
    expect(codeOf(await caller.call('DELETE', `/domains/${moved}`))).toEqual([403, 'forbidden']);
  });
});

describe('permissions', () => {
  it('members can list but not write; the registrar routes reject everyone', async () => {
    const member = await withKey(management, acme, 'member');
    expect((await member.call('GET', '/domains')).status).toBe(200);
    expect(codeOf(await create(member, { slug: aSlug() }))).toEqual([403, 'forbidden']);
    expect(codeOf(await acme.call('POST', '/domains/register', { domain: 'a.link' }))).toEqual([403, 'forbidden']);
    expect(codeOf(await acme.call('GET', '/domains/status?domains=a.link'))).toEqual([403, 'forbidden']);
  });
});
