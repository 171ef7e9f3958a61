import { randomUUID } from 'node:crypto';
import type { Catalog } from '@waymark/catalog';
import type { Domain, Link, Partner } from '@waymark/contract';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  type Answer,
  aCaller,
  type Caller,
  startManagement,
  type TestManagement,
  withKey,
} from '../test-management.js';

let management: TestManagement;
let acme: Caller;
let updateMany: Catalog['links']['updateMany'];

beforeAll(async () => {
  management = await startManagement();
  acme = await aCaller(management);
  ({ updateMany } = management.catalog.links);
});
afterEach(() => vi.restoreAllMocks());
afterAll(() => management.close());

const patch = ({ id }: Pick<Link, 'id'>, body: object, caller = acme) =>
  caller.call<Link>('PATCH', `/links/${id}`, body);
const codeOf = ({ status, body }: Answer<{ error?: { code: string } }>) => [status, body.error?.code];

async function aLink(fields: object = {}): Promise<Link> {
  const { status, body } = await acme.post({ url: 'https://acme.com', ...fields });
  expect(status).toBe(200);
  return body;
}

async function aDomain(): Promise<string> {
  const slug = `go.${randomUUID().slice(0, 8)}.example`;
  expect((await acme.call<Domain>('POST', '/domains', { slug })).status).toBe(201);
  return slug;
}

async function rename(slug: string): Promise<string> {
  const next = `new.${slug}`;
  expect((await acme.call('PATCH', `/domains/${slug}`, { slug: next })).status).toBe(200);
  return next;
}

async function remove(slug: string): Promise<void> {
  expect((await acme.call('DELETE', `/domains/${slug}`)).status).toBe(200);
}

/** The requests that overtake the next change of links, which has found its links already. */
interface Overtaking {
  /** Answered before the change has the locks of its links. */
  readonly before?: () => Promise<unknown>;
  /** Answered after the change is stored, and before its own request is. */
  readonly after?: () => Promise<unknown>;
}

/** Stops the next change of links for the other requests. */
function overtake({ before, after }: Overtaking): void {
  vi.spyOn(management.catalog.links, 'updateMany').mockImplementationOnce(async (...change) => {
    await before?.();
    const stored = await updateMany(...change);
    await after?.();
    return stored;
  });
}

describe('a change of a link whose domain is renamed meanwhile', () => {
  it('leaves the link on the new address, although it sends back the old one', async () => {
    const slug = await aDomain();
    const link = await aLink({ domain: slug });
    overtake({ before: () => rename(slug) });
    const domain = `new.${slug}`;
    expect(await patch(link, { ...link, title: 'Title' })).toMatchObject({
      status: 200,
      body: { ...{ id: link.id, domain, key: link.key, title: 'Title' }, shortLink: `https://${domain}/${link.key}` },
    });
    expect((await acme.get(`/links/info?domain=${domain}&key=${link.key}`)).body).toMatchObject({ id: link.id });
  });

  it('may take keys that only the default domain refuses', async () => {
    const slug = await aDomain();
    const link = await aLink({ domain: slug });
    overtake({ before: () => rename(slug) });
    expect(await patch(link, { key: 'admin' })).toMatchObject({
      status: 200,
      body: { domain: `new.${slug}`, key: 'admin' },
    });
  });
});

it('a change that sends back the address of a link leaves the link where another request has moved it meanwhile', async () => {
  const [slug, link] = [await aDomain(), await aLink({ key: 'published-before' })];
  overtake({ before: () => patch(link, { domain: slug, key: 'published' }) });
  const { body } = await patch(link, { ...link, title: 'Title' });
  expect(body).toMatchObject({ domain: slug, key: 'published', title: 'Title' });
});

describe('a move of a link to a domain', () => {
  it.each([
    ['removed', remove],
    ['renamed', rename],
  ])('that is %s meanwhile is refused, and changes nothing', async (_what, change) => {
    const slug = await aDomain();
    const testVariants = ['https://acme.com/a', 'https://acme.com/b'].map((url) => ({ url, percentage: 50 }));
    const link = await aLink({
      ...{ key: `stays-${slug}`, title: 'Old', externalId: slug, password: 'old', comments: 'old' },
      ...{ trackConversion: true, testVariants, testCompletedAt: '2026-02-01' },
    });
    overtake({ before: () => change(slug), after: () => patch(link, { comments: 'new' }) });
    const body = { domain: slug, key: 'moved', title: 'New', externalId: `${slug}-2`, password: null };
    expect(codeOf(await patch(link, { ...body, url: 'https://acme.com/new' }))).toEqual([403, 'forbidden']);
    const { body: after } = await acme.get<Link>(`/links/${link.id}`);
    expect(after).toEqual({ ...link, comments: 'new', updatedAt: after.updatedAt });
    expect((await acme.get(`/links/info?domain=${link.domain}&key=${link.key}`)).body).toMatchObject({ id: link.id });
    expect((await acme.get(`/links/ext_${slug}`)).body).toMatchObject({ id: link.id });
    expect(await management.redis.get(`waymark:link-tests:chosen:${link.id}`)).toBeNull();
  });

  it('that is renamed as soon as the link is on it leads to the new address', async () => {
    const [slug, link] = [await aDomain(), await aLink()];
    overtake({ after: () => rename(slug) });
    expect(await patch(link, { domain: slug })).toMatchObject({ status: 200, body: { domain: `new.${slug}` } });
    expect((await acme.get(`/links/${link.id}`)).body).toMatchObject({ domain: `new.${slug}` });
  });

  it('that is removed as soon as the link is on it removes the link', async () => {
    const [slug, link] = [await aDomain(), await aLink()];
    overtake({ after: () => remove(slug) });
    expect(await patch(link, { domain: slug })).toMatchObject({ status: 200, body: { domain: slug } });
    expect((await acme.get(`/links/${link.id}`)).status).toBe(404);
  });

  it('that is removed meanwhile leaves the link on its former domain, under its new name', async () => {
    const [former, slug] = [await aDomain(), await aDomain()];
    const link = await aLink({ domain: former, key: 'home' });
    overtake({ before: () => remove(slug), after: () => rename(former) });
    expect(codeOf(await patch(link, { domain: slug, key: 'moved' }))).toEqual([403, 'forbidden']);
    expect((await acme.get(`/links/${link.id}`)).body).toMatchObject({ domain: `new.${former}`, key: 'home' });
  });

  it('that is removed meanwhile leaves the link, with its new externalId if another link has taken the former one', async () => {
    const slug = await aDomain();
    const link = await aLink({ externalId: `old-${slug}` });
    overtake({ before: () => remove(slug), after: () => aLink({ externalId: `old-${slug}` }) });
    expect(codeOf(await patch(link, { domain: slug, externalId: `new-${slug}` }))).toEqual([403, 'forbidden']);
    const { body: after } = await acme.get<Link>(`/links/${link.id}`);
    expect(after).toMatchObject({ domain: link.domain, key: link.key, externalId: `new-${slug}` });
  });

  it('that is removed meanwhile leaves the link without its former tag, if that is removed as well', async () => {
    const slug = await aDomain();
    const tag = await management.catalog.tags.create(acme.workspaceId, { name: 'Former', color: 'red' });
    const link = await aLink({ tagIds: [tag.id] });
    overtake({ before: () => remove(slug), after: () => acme.call('DELETE', `/tags/${tag.id}`) });
    expect(codeOf(await patch(link, { domain: slug, tagIds: [] }))).toEqual([403, 'forbidden']);
    const record = await management.catalog.links.get(acme.workspaceId, link.id);
    expect(record).toMatchObject({ domain: link.domain, tagIds: [] });
  });

  it.each([
    ['whose former domain is removed as well', (link: Link) => remove(link.domain)],
    ['whose former key is taken', ({ domain, key }: Link) => aLink({ domain, key, url: 'https://taken.acme.com' })],
  ])('that is removed meanwhile leaves no link %s', async (_what, change) => {
    const [former, slug] = [await aDomain(), await aDomain()];
    const link = await aLink({ domain: former, key: 'home' });
    overtake({ before: () => remove(slug), after: () => change(link) });
    expect(codeOf(await patch(link, { domain: slug }))).toEqual([404, 'not_found']);
    expect((await acme.get(`/links/${link.id}`)).status).toBe(404);
  });
});

it('a change of a link is refused if the link is in a folder without write access by the time it is made', async () => {
  const { body: folder } = await acme.call<{ id: string }>('POST', '/folders', { name: 'Closed', accessLevel: 'read' });
  const member = await withKey(management, acme, 'member');
  const links = [await aLink(), await aLink()];
  const close = async () => {
    for (const link of links) await patch(link, { folderId: folder.id });
  };
  overtake({ before: close });
  expect(codeOf(await patch(links[0] as Link, { title: 'x' }, member))).toEqual([403, 'forbidden']);
  for (const link of links) await patch(link, { folderId: null });
  overtake({ before: close });
  const bulk = { linkIds: links.map(({ id }) => id), data: { title: 'x' } };
  const { body } = await member.call<{ title: string | null; code: string }[]>('PATCH', '/links/bulk', bulk);
  expect(body.map(({ title, code }) => [title, code])).toEqual([
    [null, 'forbidden'],
    [null, 'forbidden'],
  ]);
});

it('a link is not removed if it is in a folder without write access by the time it would be', async () => {
  const { body: folder } = await acme.call<{ id: string }>('POST', '/folders', { name: 'Kept', accessLevel: 'read' });
  const member = await withKey(management, acme, 'member');
  const links = [await aLink(), await aLink()];
  const { removeMany } = management.catalog.links;
  const removals = vi.spyOn(management.catalog.links, 'removeMany').mockImplementation(async (...removal) => {
    for (const link of links) await patch(link, { folderId: folder.id });
    return removeMany(...removal);
  });
  expect(codeOf(await member.call('DELETE', `/links/${links[0]?.id}`))).toEqual([403, 'forbidden']);
  for (const link of links) await patch(link, { folderId: null });
  const { body } = await member.call('DELETE', `/links/bulk?linkIds=${links.map(({ id }) => id).join()}`);
  expect(body).toMatchObject({ deletedCount: 0, errors: links.map(({ id }) => ({ link: { id }, code: 'forbidden' })) });
  expect(removals).toHaveBeenCalledTimes(2);
  for (const { id } of links) expect((await acme.get(`/links/${id}`)).status).toBe(200);
});

describe('PUT /links/upsert', () => {
  const upsert = (url: string) => acme.call<Link>('PUT', '/links/upsert', { url, title: 'Title' });

  it('leaves a link alone that another request leads elsewhere meanwhile, and creates one', async () => {
    const link = await aLink({ url: 'https://acme.com/u' });
    overtake({ before: () => patch(link, { url: 'https://acme.com/v' }) });
    const { status, body } = await upsert(link.url);
    expect([status, body.url, body.title]).toEqual([200, link.url, 'Title']);
    expect(body.id).not.toBe(link.id);
    expect((await acme.get(`/links/${link.id}`)).body).toMatchObject({ url: 'https://acme.com/v', title: null });
  });

  it('creates a link if the one that it has found is removed meanwhile', async () => {
    const link = await aLink({ url: 'https://acme.com/removed' });
    overtake({ before: () => acme.call('DELETE', `/links/${link.id}`) });
    const { status, body } = await upsert(link.url);
    expect([status, body.url, body.title]).toEqual([200, link.url, 'Title']);
    expect((await acme.get(`/links/${link.id}`)).status).toBe(404);
  });

  it('answers 409 and changes nothing if the link is overtaken again and again', async () => {
    const link = await aLink({ url: 'https://acme.com/busy' });
    const lead = (url: string) => updateMany(acme.workspaceId, [link.id], (record) => ({ ...record, url }));
    const overtaken: Catalog['links']['updateMany'] = async (...change) => {
      await lead('https://acme.com/elsewhere');
      const stored = await updateMany(...change);
      await lead(link.url);
      return stored;
    };
    const changes = vi.spyOn(management.catalog.links, 'updateMany').mockImplementation(overtaken);
    expect(codeOf(await upsert(link.url))).toEqual([409, 'conflict']);
    expect(changes).toHaveBeenCalledTimes(5);
    expect((await acme.get(`/links/${link.id}`)).body).toMatchObject({ url: link.url, title: null });
    expect((await acme.get<Link[]>(`/links?search=${encodeURIComponent(link.url)}`)).body).toHaveLength(1);
    changes.mockReset().mockImplementation(updateMany);
    for (let time = 1; time < 5; time++) changes.mockImplementationOnce(overtaken);
    expect(await upsert(link.url)).toMatchObject({ status: 200, body: { id: link.id, title: 'Title' } });
  });
});

it('PUT /partners/links/upsert leaves a link alone that another request leads elsewhere, or gives away, meanwhile', async () => {
  const [ada, eve] = await Promise.all(
    ['ada', 'eve'].map((name) =>
      acme.call<Partner>('POST', '/partners', { email: `${name}@example.com`, tenantId: name }),
    ),
  );
  const upsert = async () => {
    const body = { tenantId: 'ada', url: `https://${acme.host}/partner`, linkProps: { title: 'Title' } };
    return (await acme.call<Link>('PUT', '/partners/links/upsert', body)).body;
  };
  const url = `https://${acme.host}/elsewhere`;
  for (const change of [{ url }, { partnerId: eve?.body.id, tenantId: null }]) {
    const link = await upsert();
    overtake({ before: () => patch(link, { ...change, title: 'Other' }) });
    const next = await upsert();
    expect(next).toMatchObject({ url: `https://${acme.host}/partner`, partnerId: ada?.body.id, title: 'Title' });
    expect(next.id).not.toBe(link.id);
    expect((await acme.get(`/links/${link.id}`)).body).toMatchObject({ ...change, title: 'Other' });
  }
});
