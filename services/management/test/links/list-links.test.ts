import { type Link, linkSchema, parseResourceId } from '@waymark/contract';
import { aClick, aSale, insertClicks, insertSales } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  aCaller,
  type Caller,
  callerWith,
  DEFAULT_DOMAIN,
  startManagement,
  type TestManagement,
  withKey,
} from '../test-management.js';

let management: TestManagement;
let acme: Caller;
/** Links in the order of creation, starting with the root link of the domain. */
let links: Link[];
let tags: { sale: string; news: string };
let folderId: string;

const DAY_MS = 86_400_000;
const FIRST_CLICK_MS = Date.UTC(2026, 9, 1);

async function aLink(fields: object): Promise<Link> {
  const { status, body } = await acme.post({ url: 'https://acme.com', ...fields });
  expect(status).toBe(200);
  return body;
}

/** Stores `count` clicks on the link, the last one `lastDay` days after the first day. */
async function click(link: Link | undefined, count: number, lastDay: number, sales: readonly number[] = []) {
  const workspaceId = parseResourceId('workspace', acme.workspaceId) ?? '';
  const linkId = parseResourceId('link', link?.id ?? '') ?? '';
  const clicks = Array.from({ length: count }, (_, index) =>
    aClick({ workspaceId, linkId, timestampMs: FIRST_CLICK_MS + lastDay * DAY_MS - index * 1000 }),
  );
  await insertClicks(management.database.client, clicks);
  await insertSales(
    management.database.client,
    sales.map((amount) => aSale({ click: clicks[0] ?? [], amount })),
  );
}

beforeAll(async () => {
  management = await startManagement();
  acme = await aCaller(management);
  const { catalog } = management;
  const [sale, news] = [
    await catalog.tags.create(acme.workspaceId, { name: 'Sale' }),
    await catalog.tags.create(acme.workspaceId, { name: 'News' }),
  ];
  tags = { sale: sale.id, news: news.id };
  folderId = (await catalog.folders.create(acme.workspaceId, { name: 'Spring' })).id;
  links = [];
  for (const fields of [
    { key: 'one', tagIds: [sale.id], tenantId: 'tenant-1' },
    { key: 'two', tagIds: [news.id, sale.id], folderId },
    { key: 'three', url: 'https://example.com/Path?q=1' },
    { key: 'four', archived: true, tagIds: [news.id] },
    { key: 'five', domain: DEFAULT_DOMAIN },
  ]) {
    links.push(await aLink(fields));
  }
  await click(links[0], 3, 5);
  await click(links[1], 5, 1, [500]);
  await click(links[3], 9, 9, [900]);
  await click(links[4], 1, 7, [100, 250]);
});
afterAll(() => management.close());

async function list(query = '', caller = acme): Promise<Link[]> {
  const { status, body } = await caller.get<Link[]>(`/links${query}`);
  expect(status).toBe(200);
  return linkSchema.array().parse(body);
}
const keys = async (query = '', caller = acme) => (await list(query, caller)).map(({ key }) => key);
const refusal = async (query: string, caller = acme) => {
  const { status, body } = await caller.get(`/links${query}`);
  return [status, body.error.code];
};

describe('GET /links', () => {
  it('lists newest first, including the root link, without archived ones', async () => {
    expect(await keys()).toEqual(['five', 'three', 'two', 'one', '_root']);
    expect(await keys('?showArchived=true')).toEqual(['five', 'four', 'three', 'two', 'one', '_root']);
  });

  it('shows links as single retrieval does, with counters and tags', async () => {
    const [, , two] = await list();
    expect(two).toMatchObject({ clicks: 5, sales: 1, saleAmount: 500, tags: [{ name: 'News' }, { name: 'Sale' }] });
    expect((await acme.get(`/links/${two?.id}`)).body).toEqual(two);
  });

  it.each([
    ['createdAt, ascending', '?sortOrder=asc', ['_root', 'one', 'two', 'three', 'five']],
    ['clicks', '?sortBy=clicks', ['two', 'one', 'five', 'three', '_root']],
    ['clicks, ascending', '?sortBy=clicks&sortOrder=asc', ['_root', 'three', 'five', 'one', 'two']],
    ['clicks, archived ones too', '?sortBy=clicks&showArchived=true', ['four', 'two', 'one', 'five', 'three', '_root']],
    ['clicks, of a few', '?sortBy=clicks&tenantId=tenant-1', ['one']],
    ['clicks, of those with tags', '?sortBy=clicks&withTags=true', ['two', 'one']],
    ['clicks, with the deprecated name', '?sort=clicks&sortBy=createdAt', ['two', 'one', 'five', 'three', '_root']],
    ['clicks, with the deprecated default', '?sort=createdAt&sortBy=clicks', ['two', 'one', 'five', 'three', '_root']],
    ['saleAmount', '?sortBy=saleAmount', ['two', 'five', 'three', 'one', '_root']],
    ['lastClicked', '?sortBy=lastClicked', ['five', 'one', 'two', 'three', '_root']],
    ['lastClicked, ascending', '?sortBy=lastClicked&sortOrder=asc', ['_root', 'three', 'two', 'one', 'five']],
  ])('sorts by %s; without a counter by creation', async (_what, query, expected) => {
    expect(await keys(query)).toEqual(expected);
    for (let pageSize = 1; pageSize <= 3; pageSize++) {
      const pages: string[] = [];
      for (let page = 1; pages.length < expected.length; page++) {
        const some = await keys(`${query}&page=${page}&pageSize=${pageSize}`);
        expect(some.length).toBeGreaterThan(0);
        pages.push(...some);
      }
      expect(pages).toEqual(expected);
    }
  });

  it.each([
    ['a domain', () => `domain=${DEFAULT_DOMAIN.toUpperCase()}`, ['five']],
    ['any of the tags', () => `tagIds=${tags.sale},${tags.news}`, ['two', 'one']],
    ['tags by repeated keys', () => `tagIds=${tags.news}&tagIds=tag_x`, ['two']],
    ['tags by name', () => 'tagNames=SALE', ['two', 'one']],
    ['an unknown tag name', () => 'tagNames=unknown', []],
    ['the deprecated tagId', () => `tagId=${tags.news}`, ['two']],
    ['a folder', () => `folderId=${folderId}`, ['two']],
    ['no folder', () => 'folderId=unsorted', ['five', 'three', 'one', '_root']],
    ['part of the key', () => 'search=TWO', ['two']],
    ['part of the destination', () => 'search=example.com/path', ['three']],
    ['the short link', () => `search=${encodeURIComponent(`https://${acme.host}/One`)}`, ['one']],
    ['text that is nowhere', () => 'search=%25', []],
    ['a tenant', () => 'tenantId=tenant-1', ['one']],
    ['an unknown tenant', () => 'tenantId=tenant', []],
    ['a user', () => 'userId=user_x', []],
    ['a partner', () => 'partnerId=pn_x', []],
    ['links by id', () => `linkIds=${links[0]?.id},${links[2]?.id},link_x`, ['three', 'one']],
    ['links by ids of another form', () => `linkIds=nope,%00x,${links[0]?.id}`, ['one']],
    ['ids of another form only', () => 'linkIds=nope', []],
    ['links with tags', () => 'withTags=true', ['two', 'one']],
    ['archived links with a tag', () => `withTags=true&showArchived=true&tagId=${tags.news}`, ['four', 'two']],
    ['several at once', () => `tagIds=${tags.sale}&search=acme&folderId=${folderId}`, ['two']],
    ['empty filters', () => 'domain=&tagIds=&search=&tenantId=', ['five', 'three', 'two', 'one', '_root']],
    [
      'lists without items',
      () => 'tagIds=&tagIds=&tagNames=,&linkIds=,&linkIds=',
      ['five', 'three', 'two', 'one', '_root'],
    ],
  ])('filters by %s', async (_what, query, expected) => {
    expect(await keys(`?${query()}`)).toEqual(expected);
    const { body } = await acme.get<number>(`/links/count?${query()}`);
    expect(body).toBe(expected.length);
  });

  it.each([
    ['linkIds', 'tag_00000000001'],
    ['tagIds', 'tag_00000000000'],
    ['tagId', 'tag_00000000000'],
    // The number of links without a partner.
    ['partnerId', 'pn_00000000000'],
  ])('answers %s without a statement if no record can have the id', async (name, impossible) => {
    await keys('?tenantId=tenant-1');
    const rows = vi.spyOn(management.database.client, 'rows');
    try {
      const many = Array.from({ length: name.endsWith('s') ? 1000 : 1 }, (_, index) => `nope-${index}`).join(',');
      for (const value of [many, '%00', impossible]) {
        for (const order of ['', '&sortBy=clicks', `&startingAfter=${links[2]?.id}`]) {
          expect(await keys(`?${name}=${value}${order}`)).toEqual([]);
        }
        expect((await acme.get(`/links/count?${name}=${value}`)).body).toBe(0);
        expect((await acme.get(`/links/count?groupBy=domain&${name}=${value}`)).body).toEqual([]);
      }
      expect(rows).not.toHaveBeenCalled();
    } finally {
      rows.mockRestore();
    }
  });

  it('filters and counts by the user whose key has created a link', async () => {
    const caller = await aCaller(management);
    const { token } = await management.catalog.keys.create({
      ...{
        workspaceId: caller.workspaceId,
        name: 'Ada',
        kind: 'secret',
        role: 'owner',
        scopes: [],
        userId: 'user_ada',
      },
    });
    const ada = callerWith(management, caller.workspaceId, token, caller.host);
    for (const key of ['a', 'b', 'c'])
      expect((await ada.post({ url: 'https://a.com', key })).body.userId).toBe('user_ada');
    await caller.post({ url: 'https://a.com', key: 'd' });
    expect(await keys('?userId=user_ada', caller)).toEqual(['c', 'b', 'a']);
    for (const userId of ['user_ad', 'user_adam', 'USER_ADA'])
      expect(await keys(`?userId=${userId}`, caller)).toEqual([]);
    expect((await caller.get('/links/count?userId=user_ada')).body).toBe(3);
    expect((await caller.get('/links/count?groupBy=userId')).body).toEqual([
      { userId: 'user_ada', _count: 3 },
      { userId: null, _count: 2 },
    ]);
  });

  it('finds keys and domains in other scripts by whole parts', async () => {
    const caller = await aCaller(management);
    await caller.call('POST', '/domains', { slug: `bücher.${caller.host}` });
    const { body: link } = await caller.post({ url: 'https://a.com', domain: `bücher.${caller.host}`, key: 'ja/日本' });
    expect(await keys(`?search=${encodeURIComponent('日本')}`, caller)).toEqual([link.key]);
    expect(await keys(`?search=${encodeURIComponent(`BÜCHER.${caller.host}/ja/`)}`, caller)).toEqual([link.key]);
    const { body: domains } = await caller.get<{ slug: string }[]>(`/domains?search=${encodeURIComponent('bücher')}`);
    expect(domains.map(({ slug }) => slug)).toEqual([link.domain]);
  });

  it.each([
    ['Übersicht', ['Übersicht', 'übersicht', 'ÜBERSICHT']],
    ['docs/übersicht', ['docs/Übersicht', 'ÜBERSICHT', 'https://<host>/docs/Übersicht', '<host>/DOCS/ÜBERSICHT']],
    ['Привет/мир', ['Привет', 'привет', 'ПРИВЕТ', 'Привет/мир', 'мир']],
    ['xn--blog/mnchen-yhb', ['blog/münchen', 'Blog/MÜNCHEN', '/blog/münchen', 'https://<host>/blog/münchen']],
    ['xn--blog/Mnchen-z5a', ['blog/MÜnchen', 'blog/münchen', '<host>/blog/München']],
  ])('finds the key %s by its whole parts in any case, and by the whole key in either encoding', async (key, texts) => {
    const caller = await aCaller(management);
    const { status, body: link } = await caller.post({ url: 'https://a.com', key });
    expect(status).toBe(200);
    await caller.post({ url: 'https://a.com', key: 'ubersicht/munchen' });
    for (const text of texts) {
      const search = encodeURIComponent(text.replace('<host>', caller.host));
      expect([text, await keys(`?search=${search}`, caller)]).toEqual([text, [link.key]]);
      expect((await caller.get<number>(`/links/count?search=${search}`)).body).toBe(1);
    }
  });

  it('pages after and before a link, even when that link was deleted', async () => {
    const caller = await aCaller(management);
    const made: Link[] = [];
    for (const key of ['a', 'b', 'c', 'd', 'e']) made.push((await caller.post({ url: 'https://a.com', key })).body);
    const [a, , c, d] = made.map(({ id }) => id);
    expect(await keys(`?startingAfter=${d}`, caller)).toEqual(['c', 'b', 'a', '_root']);
    expect(await keys(`?startingAfter=${d}&pageSize=2&page=1`, caller)).toEqual(['c', 'b']);
    expect(await keys(`?startingAfter=${d}&pageSize=2&page=2`, caller)).toEqual(['a', '_root']);
    expect(await keys(`?startingAfter=${d}&pageSize=2&page=3`, caller)).toEqual([]);
    expect(await keys(`?endingBefore=${a}&pageSize=3&page=2`, caller)).toEqual(['e']);
    expect(await keys(`?endingBefore=${d}&sortOrder=asc&pageSize=2&page=2`, caller)).toEqual(['_root', 'a']);
    expect(await refusal(`?startingAfter=${d}&page=1001`, caller)).toEqual([422, 'unprocessable_entity']);
    expect(await keys(`?endingBefore=${a}&pageSize=2`, caller)).toEqual(['c', 'b']);
    expect(await keys(`?startingAfter=${c}&sortOrder=asc`, caller)).toEqual(['d', 'e']);
    expect(await keys(`?endingBefore=${d}&sortOrder=asc&pageSize=2`, caller)).toEqual(['b', 'c']);
    expect(await keys(`?startingAfter=${c}&search=${caller.host}/b`, caller)).toEqual(['b']);
    await caller.call('DELETE', `/links/${c}`);
    expect(await keys(`?startingAfter=${c}&pageSize=1`, caller)).toEqual(['b']);
    const { body: root } = await caller.get(`/links/info?domain=${caller.host}`);
    expect(await keys(`?startingAfter=${root.id}`, caller)).toEqual([]);
  });

  it('returns an empty page beyond the end', async () => {
    expect(await keys('?page=2')).toEqual([]);
    expect(await keys('?page=1000&sortBy=clicks')).toEqual([]);
  });

  it('shows what was just created, changed and removed', async () => {
    const caller = await aCaller(management);
    const { body: link } = await caller.post({ url: 'https://a.com', key: 'a' });
    expect(await keys('', caller)).toEqual(['a', '_root']);
    await caller.call('PATCH', `/links/${link.id}`, { key: 'b' });
    expect(await keys('', caller)).toEqual(['b', '_root']);
    expect(await keys(`?search=${caller.host}/a`, caller)).toEqual([]);
    await caller.call('DELETE', `/links/${link.id}`);
    expect(await keys('', caller)).toEqual(['_root']);
  });

  it.each([
    ['page=0', 422],
    ['page=1001', 422],
    ['page=x', 400],
    ['pageSize=101', 422],
    ['pageSize=0', 422],
    ['sortBy=title', 422],
    ['sortOrder=up', 422],
    ['showArchived=yes', 400],
    ['domain=nowhere.example', 404],
    ['folderId=fold_x', 404],
    ['startingAfter=link_zzzzzzzzzzz', 422],
    ['startingAfter=nonsense', 422],
  ])('%s answers %i', async (query, status) => {
    expect((await refusal(`?${query}`))[0]).toBe(status);
  });

  it('rejects two cursors, and a cursor with another order', async () => {
    const id = links[1]?.id;
    expect(await refusal(`?startingAfter=${id}&endingBefore=${id}`)).toEqual([422, 'unprocessable_entity']);
    expect(await refusal(`?startingAfter=${id}&sortBy=clicks`)).toEqual([422, 'unprocessable_entity']);
  });

  it('a domain of another workspace and a hidden folder are forbidden', async () => {
    const stranger = await aCaller(management);
    expect(await refusal(`?domain=${acme.host}`, stranger)).toEqual([403, 'forbidden']);
    expect(await refusal(`?startingAfter=${links[0]?.id}`, stranger)).toEqual([422, 'unprocessable_entity']);
    const { folders } = management.catalog;
    const hidden = await folders.create(acme.workspaceId, { name: 'Hidden', accessLevel: null });
    expect(await keys(`?folderId=${hidden.id}`)).toEqual([]);
    const viewer = await withKey(management, acme, 'viewer', ['links.read']);
    expect(await refusal(`?folderId=${hidden.id}`, viewer)).toEqual([403, 'forbidden']);
  });

  it('needs the permission links.read', async () => {
    const other = await withKey(management, acme, 'owner', ['tags.read']);
    expect(await refusal('', other)).toEqual([403, 'forbidden']);
    expect(await refusal('/count', other)).toEqual([403, 'forbidden']);
  });
});

describe('GET /links/count', () => {
  it('counts all links, or those of a filter', async () => {
    expect((await acme.get('/links/count')).body).toBe(5);
    expect((await acme.get('/links/count?showArchived=true&groupBy=')).status).toBe(422);
    expect((await acme.get('/links/count?showArchived=true')).body).toBe(6);
  });

  it.each([
    [
      'domain',
      () => [
        [acme.host, 4],
        [DEFAULT_DOMAIN, 1],
      ],
    ],
    [
      'tagId',
      () => [
        [tags.sale, 2],
        [tags.news, 1],
      ],
    ],
    [
      'folderId',
      () => [
        [null, 4],
        [folderId, 1],
      ],
    ],
    ['userId', () => [[null, 5]]],
  ])('by %s, most links first', async (groupBy, expected) => {
    const { body } = await acme.get<Record<string, unknown>[]>(`/links/count?groupBy=${groupBy}`);
    expect(body).toEqual(expected().map(([value, count]) => ({ [groupBy]: value, _count: count })));
  });

  it('by tag, the ten thousand with the most links', async () => {
    const { database } = management;
    const many = await aCaller(management);
    for (const key of ['all', 'every-other']) {
      expect((await many.call('POST', '/links', { url: 'https://acme.com/many', key })).status).toBe(200);
    }
    await database.client.command({
      query: `INSERT INTO links SELECT * REPLACE (version + 1 AS version,
          range(1, 20001, if(key = 'every-other', 2, 1)) AS tag_ids)
        FROM links WHERE workspace_id = {workspace:UInt64}`,
      query_params: { workspace: parseResourceId('workspace', many.workspaceId) },
    });
    const { body: counts } = await many.get<{ _count: number }[]>('/links/count?groupBy=tagId');
    expect(counts).toHaveLength(10_000);
    // The root link of the domain has all tags too.
    expect(new Set(counts.map(({ _count }) => _count))).toEqual(new Set([3]));
  });
});
