import { storedKey } from '@waymark/catalog';
import { type Link, linkSchema } from '@waymark/contract';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
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

beforeAll(async () => {
  management = await startManagement();
  acme = await aCaller(management);
});
afterAll(() => management.close());

const URL_A = 'https://acme.com/a';
const codeOf = ({ status, body }: Answer) => [status, body.error?.code];
const patch = (link: Pick<Link, 'id'>, body: object, caller = acme) =>
  caller.call<Link>('PATCH', `/links/${link.id}`, body);
async function aLink(fields: object = {}, caller = acme): Promise<Link> {
  const { status, body } = await caller.post({ url: URL_A, ...fields });
  expect(status).toBe(200);
  return body;
}
/** All differ, which makes their punycode long. */
const ideographs = (chars: number) =>
  String.fromCharCode(...Array.from({ length: chars }, (_, at) => 0x4e00 + 97 * at));
const NOTES = 'waymark:link-tests:ended';
/** The noted ends of the link's A/B test. */
async function notedEnds({ workspaceId, id }: Link): Promise<(string | undefined)[]> {
  const prefix = `${workspaceId}/${id}/`;
  const notes = (await management.redis.smembers(NOTES)).filter((note) => note.startsWith(prefix));
  return notes.map((note) => note.slice(prefix.length).split('/')[0]);
}

describe('PATCH /links/{linkId}', () => {
  it('changes only given fields, by id, by external id and also by PUT', async () => {
    const link = await aLink({ externalId: 'ref-1', title: 'Title', password: 'secret', comments: 'old' });
    for (const [method, path, comments] of [
      ['PATCH', link.id, 'one'],
      ['PATCH', 'ext_ref-1', 'two'],
      ['PUT', link.id, 'three'],
    ] as const) {
      const { status, body } = await acme.call<Link>(method, `/links/${path}`, { comments });
      expect(status).toBe(200);
      expect(linkSchema.parse(body)).toEqual({ ...link, comments, updatedAt: body.updatedAt });
      expect((await acme.get(`/links/${link.id}`)).body).toEqual(body);
    }
  });

  it('keeps a destination that a change sets together with the end of an A/B test or later, but not that of an upsert', async () => {
    const testVariants = [URL_A, 'https://acme.com/b'].map((url) => ({ url, percentage: 50 }));
    const link = await aLink({ url: 'https://acme.com/tested', trackConversion: true, testVariants });
    const keep = vi.spyOn(management.catalog.abTests, 'keepDestination');
    const kept = async (request: Promise<Answer>) => {
      keep.mockClear();
      expect((await request).status).toBe(200);
      return keep.mock.calls.length;
    };
    const [url, other] = ['https://acme.com/b', 'https://acme.com/c'];
    const testCompletedAt = new Date().toISOString();
    expect(await kept(patch(link, { comments: 'x' }))).toBe(0);
    expect(await kept(patch(link, { url, testCompletedAt }))).toBe(1);
    expect(await kept(patch(link, { url: other }))).toBe(1);
    expect(await kept(patch(link, { url: other, title: 'x' }))).toBe(0);
    expect(await kept(acme.call('PUT', '/links/upsert', { url: other, title: 'y' }))).toBe(0);
    const bulk = { linkIds: [link.id], data: { url, comments: 'z' } };
    expect(await kept(acme.call('PATCH', '/links/bulk', bulk))).toBe(1);
  });

  it('the end of an A/B test in the past is noted for the writer, when it is set', async () => {
    const testVariants = [URL_A, 'https://acme.com/b'].map((url) => ({ url, percentage: 50 }));
    const [link, other] = [
      await aLink({ trackConversion: true, testVariants }),
      await aLink({ trackConversion: true, testVariants }),
    ];
    await patch(link, { comments: 'x' });
    await patch(other, { testCompletedAt: 'in 1 hour' });
    expect([await notedEnds(link), await notedEnds(other)]).toEqual([[], []]);
    const { status, body } = await patch(link, { testCompletedAt: '1 hour ago' });
    expect([status, await notedEnds(link)]).toEqual([200, [body.testCompletedAt]]);
    await acme.call('PATCH', '/links/bulk', { linkIds: [other.id], data: { testCompletedAt: 'yesterday' } });
    expect(await notedEnds(other)).toHaveLength(1);
  });

  it('the end of an A/B test in the past is noted before it is stored, so that none is stored without a note', async () => {
    const testVariants = [URL_A, 'https://acme.com/b'].map((url) => ({ url, percentage: 50 }));
    const link = await aLink({ key: 'ends', trackConversion: true, testVariants });
    const endsAt = (hours: number) => ({ testCompletedAt: new Date(Date.now() - hours * 3_600_000).toISOString() });
    const [first, second] = [endsAt(1), endsAt(2)];
    await aLink({ key: 'other-test' });
    expect((await patch(link, { key: 'other-test', ...first })).status).toBe(409);
    expect(await notedEnds(link)).toEqual([first.testCompletedAt]);
    await management.redis.set(NOTES, 'no set, so that Redis refuses to add to it');
    expect((await patch(link, second)).status).toBe(500);
    await management.redis.del(NOTES);
    expect((await acme.get<Link>(`/links/${link.id}`)).body.testCompletedAt).toBeNull();
    expect((await patch(link, second)).status).toBe(200);
    expect(await notedEnds(link)).toEqual([second.testCompletedAt]);
  });

  it('a destination that is set with the end of an A/B test is noted before it is stored', async () => {
    const testVariants = [URL_A, 'https://acme.com/b'].map((url) => ({ url, percentage: 50 }));
    const link = await aLink({ key: 'chosen-test', trackConversion: true, testVariants });
    await aLink({ key: 'of-another-link' });
    const body = { key: 'of-another-link', url: 'https://acme.com/b', testCompletedAt: new Date().toISOString() };
    expect((await patch(link, body)).status).toBe(409);
    const noted = await management.redis.get(`waymark:link-tests:choosing:${link.id}`);
    expect(noted?.startsWith(body.testCompletedAt)).toBe(true);
  });

  it('null clears a field, as an empty text does in most; absent fields stay unchanged', async () => {
    const fields = {
      title: 'Title',
      description: 'Text',
      password: 'secret',
      expiresAt: '2030-01-01',
      expiredUrl: 'https://gone.com',
      ios: 'https://apps.apple.com/x',
      android: 'https://play.google.com/x',
      geo: { FR: 'https://acme.fr' },
      comments: 'comment',
      tenantId: 'tenant',
      image: 'https://img.com/a.png',
      video: 'https://v.com/a.mp4',
      testStartedAt: '2026-01-01',
      testCompletedAt: '2026-02-01',
    };
    const nulls = Object.fromEntries([...Object.keys(fields), 'externalId'].map((field) => [field, null]));
    for (const blank of [null, '']) {
      const link = await aLink({ ...fields, externalId: 'clear-me' });
      const texts = Object.fromEntries(Object.keys(fields).map((field) => [field, blank]));
      const { body } = await patch(link, { ...texts, geo: null, externalId: null });
      expect(body).toEqual({ ...link, ...nulls, updatedAt: body.updatedAt });
      expect((await acme.get('/links/ext_clear-me')).status).toBe(404);
    }
  });

  it('utm fields set and remove parameters of the destination; its other parameters stay', async () => {
    const link = await aLink({ url: 'https://acme.com/?utm_source=a&utm_medium=b&x=1' });
    const { body } = await patch(link, { utm_source: 'new', utm_medium: null, ref: 'friend' });
    expect(body).toMatchObject({
      url: 'https://acme.com/?utm_source=new&x=1&ref=friend',
      utm_source: 'new',
      utm_medium: null,
    });
    const { body: next } = await patch(link, { url: 'https://acme.com/?utm_campaign=c' });
    expect(next).toMatchObject({ utm_source: 'new', utm_campaign: 'c' });
  });

  it('an update without changes does not touch the link', async () => {
    const link = await aLink({ password: 'secret', title: 'Title' });
    expect((await patch(link, { password: 'secret', title: 'Title', url: URL_A })).body).toEqual(link);
    expect((await patch(link, {})).body).toEqual(link);
  });

  it('moves the link to another key and domain, in every process at once, and releases the old ones', async () => {
    const link = await aLink({ key: 'old' });
    const other = management.anotherCatalog();
    expect((await other.links.findByAddress(acme.host, 'old'))?.url).toBe(URL_A);
    const { body } = await patch(link, { key: 'new', domain: DEFAULT_DOMAIN.toUpperCase(), url: 'https://acme.com/b' });
    expect(body).toMatchObject({ key: 'new', domain: DEFAULT_DOMAIN, shortLink: `https://${DEFAULT_DOMAIN}/new` });
    expect(await other.links.findByAddress(acme.host, 'old')).toBeUndefined();
    expect((await other.links.findByAddress(DEFAULT_DOMAIN, 'new'))?.url).toBe('https://acme.com/b');
    expect((await aLink({ key: 'OLD' })).key).toBe('OLD');
  });

  it('the same key in another case is not a conflict', async () => {
    const link = await aLink({ key: 'case' });
    expect((await patch(link, { key: 'CaSe' })).body.key).toBe('CaSe');
  });

  let kept: Link;
  beforeAll(async () => {
    await aLink({ key: 'taken', externalId: 'taken' });
    kept = await aLink();
  });

  it.each([
    ['a taken key', { key: 'TAKEN' }, 409, 'conflict'],
    ['a taken externalId', { externalId: 'taken' }, 409, 'conflict'],
    ['a bad key', { key: 'a b' }, 422, 'unprocessable_entity'],
    ['a reserved key', { key: 'robots.txt' }, 403, 'forbidden'],
    ['a foreign domain', { domain: 'elsewhere.example' }, 403, 'forbidden'],
    ['an empty url', { url: '' }, 400, 'bad_request'],
    ['null for url', { url: null }, 400, 'bad_request'],
    ['an invalid url', { url: 'nonsense' }, 422, 'unprocessable_entity'],
    ['an unknown tag', { tagIds: ['tag_x'] }, 422, 'unprocessable_entity'],
    ['an unknown folder', { folderId: 'fold_x' }, 404, 'not_found'],
    ['an unknown program', { programId: 'prog_x' }, 404, 'not_found'],
    ['an invalid date', { expiresAt: 'never' }, 422, 'unprocessable_entity'],
    ['a bad key before an unknown folder', { key: 'a b', folderId: 'fold_x' }, 422, 'unprocessable_entity'],
    ['a foreign domain before tags', { domain: 'elsewhere.example', tagIds: ['tag_x'] }, 403, 'forbidden'],
    ['an unknown folder before a taken key', { key: 'TAKEN', folderId: 'fold_x' }, 404, 'not_found'],
    [
      'variants without conversions',
      {
        testVariants: [
          { url: 'https://a.com', percentage: 50 },
          { url: 'https://b.com', percentage: 50 },
        ],
      },
      422,
      'unprocessable_entity',
    ],
  ])('refuses %s and changes nothing', async (_what, body, status, code) => {
    expect(codeOf(await patch(kept, { title: 'changed', ...body }))).toEqual([status, code]);
    expect((await acme.get(`/links/${kept.id}`)).body).toEqual(kept);
  });

  it.each([
    ['a key that is longer in punycode', { url: `${URL_A}/long-key`, key: ideographs(190) }],
    [
      'UTM values of its url that are longer than a body may set',
      { url: `${URL_A}/long-value?utm_source=${'s'.repeat(300)}` },
    ],
  ])('stays as it is when it is sent back as it was answered, with %s', async (_what, fields) => {
    const link = await aLink(fields);
    expect(Math.max(link.key.length - 190, (link.utm_source ?? '').length - 255)).toBeGreaterThan(0);
    for (const [method, path] of [
      ['PATCH', link.id],
      ['PUT', link.id],
      ['PUT', 'upsert'],
    ] as const) {
      const { status, body } = await acme.call(method, `/links/${path}`, { ...link });
      expect([status, body]).toEqual([200, link]);
    }
    expect((await acme.call('DELETE', `/links/${link.id}`)).status).toBe(200);
    const { body: copy } = await acme.post({ ...link });
    expect([copy.shortLink, copy.url]).toEqual([link.shortLink, link.url]);
  });

  it('takes no longer key or UTM value than a new link', async () => {
    const [link, key, value] = [await aLink(), ideographs(191), 's'.repeat(256)];
    const fields = [{ key }, { key: storedKey(key) }, { key: 'x'.repeat(191) }, { utm_source: value }, { ref: value }];
    for (const field of fields) {
      const url = 'https://acme.com/lengths';
      const answers = [
        await patch(link, field),
        await acme.post({ url, ...field }),
        await acme.call<Link>('PUT', '/links/upsert', { url, ...field }),
      ];
      expect(answers.map(codeOf)).toEqual(answers.map(() => [422, 'unprocessable_entity']));
    }
  });

  it('an unknown link and one of another workspace are not found', async () => {
    const link = await aLink({ externalId: 'mine' });
    const stranger = await aCaller(management);
    for (const id of [link.id, 'ext_mine']) {
      expect(codeOf(await patch({ id }, { title: 'x' }, stranger))).toEqual([404, 'not_found']);
    }
    for (const id of ['link_zzzzzzzzzzz', 'nonsense', 'ext_nobody']) {
      expect(codeOf(await patch({ id }, { title: 'x' }))).toEqual([404, 'not_found']);
    }
  });

  it('needs the permission links.write', async () => {
    const reader = await withKey(management, acme, 'owner', ['links.read']);
    expect(codeOf(await patch(await aLink(), {}, reader))).toEqual([403, 'forbidden']);
  });

  it('a root link keeps domain and key, and may have a destination or none', async () => {
    const { body: root } = await acme.get(`/links/info?domain=${acme.host}`);
    const { body } = await patch(root, { key: 'x', domain: DEFAULT_DOMAIN, url: URL_A });
    expect(body).toMatchObject({ key: '_root', domain: acme.host, url: URL_A });
    expect((await patch(root, { url: '' })).body.url).toBe('');
  });

  it('a destination for a root link needs pro', async () => {
    const free = await aCaller(management, 'free');
    const { body: root } = await free.get<Link>(`/links/info?domain=${free.host}`);
    expect(codeOf(await patch(root, { url: URL_A }, free))).toEqual([403, 'forbidden']);
    expect((await patch(root, { comments: 'x' }, free)).status).toBe(200);
  });

  it('the plan is checked for the whole link, not only for the changed fields', async () => {
    const caller = await aCaller(management, 'pro');
    const link = await aLink({ password: 'secret' }, caller);
    await management.catalog.workspaces.update(caller.workspaceId, { plan: 'free' });
    expect(codeOf(await patch(link, { title: 'x' }, caller))).toEqual([403, 'forbidden']);
    expect((await patch(link, { title: 'x', password: null }, caller)).status).toBe(200);
    expect(codeOf(await patch(link, { trackConversion: true }, caller))).toEqual([403, 'forbidden']);
  });

  it('a link with variants cannot stop tracking conversions', async () => {
    const testVariants = [50, 50].map((percentage) => ({ url: 'https://a.com', percentage }));
    const link = await aLink({ trackConversion: true, testVariants });
    expect((await patch(link, { trackConversion: false })).status).toBe(422);
    expect((await patch(link, { trackConversion: false, testVariants: null })).status).toBe(200);
  });
});

describe('concurrent updates', () => {
  it('of different fields of one link lose no field', async () => {
    const link = await aLink();
    const changes = { title: 't', description: 'd', comments: 'c', externalId: 'x', ios: 'https://a.com', proxy: true };
    const entries = Object.entries(changes);
    const answers = await Promise.all(entries.map(([field, value]) => patch(link, { [field]: value })));
    expect(answers.map(({ status }) => status)).toEqual(entries.map(() => 200));
    expect((await acme.get(`/links/${link.id}`)).body).toMatchObject(changes);
  });

  it('of several links to one key succeed once', async () => {
    const links = await Promise.all(Array.from({ length: 20 }, () => aLink()));
    let next = 0;
    const claim = () => patch(links[next++] ?? { id: '' }, { key: 'goal' });
    expect(await statusesOf(20, claim)).toEqual({ 200: 1, 409: 19 });
  });
});
