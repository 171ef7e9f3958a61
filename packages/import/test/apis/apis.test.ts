import { createOutbound } from '@waymark/outbound';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { openApi, type Source } from '../../src/index.js';
import { aDubLink, type DubAccount, dubAnswer, emptyAccount } from '../history/stub-dub.js';
import { type StubAnswer, type StubRequest, startStub } from './stub-server.js';

const KEY = 'secret-key-of-the-source';
const NOW = Date.parse('2026-01-01T00:00:00Z');

const outbound = createOutbound({ allowedRanges: ['127.0.0.1'] });
afterAll(() => outbound.close());

interface Reading {
  readonly readsCounts?: boolean;
  readonly account?: string;
  readonly doneRows?: number;
}

/** All links of a stub's API, mapped; and how long the import waited. */
async function read(
  source: Source,
  answer: (request: StubRequest, number: number) => StubAnswer,
  options: Reading = {},
) {
  const stub = await startStub(answer);
  onTestFinished(() => stub.close());
  const waits: number[] = [];
  const links = [];
  const opened = await openApi({
    ...{
      source,
      address: `${stub.address}/`,
      credential: KEY,
      outbound,
      readsCounts: false,
      now: () => NOW,
      ...options,
    },
    wait: async (ms) => void waits.push(ms),
  });
  const mapping = { timezone: 'UTC', ...(opened.folderNames && { folderNames: opened.folderNames }) };
  const errors: string[] = [];
  const lost: unknown[] = [];
  for await (const { row, record, error, lost: ofRow = [] } of opened.rows) {
    lost.push(...ofRow.map(({ field, reason }) => ({ row, field, reason })));
    if (error !== undefined) {
      errors.push(error);
      continue;
    }
    for (const link of opened.mapRecord(record, mapping)) links.push({ row, ...link });
  }
  return { links, errors, lost, waits, requests: stub.requests, keys: links.map(({ key }) => key) };
}

describe('an API', () => {
  const dubLink = (n: number, fields: object = {}) =>
    aDubLink(`k${n}`, { id: `link_${String(n).padStart(4, '0')}`, ...fields });
  const ofDub = (account: DubAccount) => read('dub', ({ path, query }) => dubAnswer(account, path, query));

  it('of dub is read in all folders, with their names, and links that are archived', async () => {
    const account = emptyAccount();
    account.folders.push(
      { id: 'fold_1', name: 'Campaigns' },
      { id: 'fold_2', name: 'Empty' },
      { id: 'fold_3', name: 'Old' },
    );
    account.links.push(dubLink(1), dubLink(2, { folderId: 'fold_3' }));
    for (let n = 3; n < 300; n++) account.links.push(dubLink(n, { folderId: 'fold_1' }));
    const { links, requests } = await ofDub(account);
    expect(links.map(({ key, folder }) => `${key} ${folder}`).toSorted()).toEqual(
      account.links
        .map(
          ({ key, folderId }) =>
            `${key} ${folderId === undefined ? null : folderId === 'fold_1' ? 'Campaigns' : 'Old'}`,
        )
        .toSorted(),
    );
    expect(links.map(({ row }) => row)).toEqual(Array.from({ length: 299 }, (_, n) => n + 1));
    expect(requests.every(({ headers }) => headers.authorization === `Bearer ${KEY}`)).toBe(true);
    const pages = requests.filter(({ path }) => path === '/links');
    expect(pages.every(({ query }) => query.showArchived === 'true')).toBe(true);
  });

  it('of dub has each link once, also those that dub has imported, with new ids and old times', async () => {
    const account = emptyAccount();
    for (let n = 1; n <= 250; n++) account.links.push(dubLink(n, { createdAt: `2023-01-01T00:00:00.${n + 100}Z` }));
    for (let n = 501; n <= 650; n++) account.links.push(dubLink(n, { createdAt: `2015-01-01T00:00:00.${n}Z` }));
    const { keys } = await ofDub(account);
    expect(keys.toSorted()).toEqual(account.links.map(({ key }) => key).toSorted());
  });

  it('of dub is read to its end if links at which the reading turns are deleted meanwhile', async () => {
    const account = emptyAccount();
    for (let n = 501; n <= 650; n++) account.links.push(dubLink(n, { createdAt: `2015-01-01T00:00:00.${n}Z` }));
    for (let n = 1; n <= 250; n++) account.links.push(dubLink(n, { createdAt: `2023-01-01T00:00:00.${n + 100}Z` }));
    const keys = account.links.map(({ key }) => key).toSorted();
    let turns = 0;
    const found = await read('dub', ({ path, query }) => {
      // The last link of the first page, and the one that follows it.
      if (query.endingBefore !== undefined && turns++ === 0) account.links.splice(99, 2);
      return dubAnswer(account, path, query);
    });
    expect(found.keys.toSorted()).toEqual(keys);
  });

  it.each([1, 2])('of dub is read to its end if the last links of page %i are deleted meanwhile', async (page) => {
    const account = emptyAccount();
    // In the order of their ids, links that dub has imported come last, and in that of creation first.
    for (let n = 501; n <= 650; n++) account.links.push(dubLink(n, { createdAt: `2015-01-01T00:00:00.${n}Z` }));
    for (let n = 1; n <= 350; n++) account.links.push(dubLink(n, { createdAt: `2023-01-01T00:00:00.${n + 100}Z` }));
    const keys = account.links.map(({ key }) => key).toSorted();
    let pages = 0;
    const found = await read('dub', ({ path, query }) => {
      const last = query.startingAfter;
      if (last !== undefined && ++pages === page) {
        const index = account.links.findIndex(({ id }) => id === last);
        account.links.splice(index - 1, 2);
      }
      return dubAnswer(account, path, query);
    });
    expect(found.keys.toSorted()).toEqual(keys);
  });

  it('of dub is read to its end if thirty links, the last of a page, are deleted meanwhile', async () => {
    const account = emptyAccount();
    for (let n = 1; n <= 350; n++) account.links.push(dubLink(n, { createdAt: `2023-01-01T00:00:00.${n + 100}Z` }));
    const keys = account.links.map(({ key }) => key).toSorted();
    let pages = 0;
    const found = await read('dub', ({ path, query }) => {
      const index = account.links.findIndex(({ id }) => id === query.startingAfter);
      if (query.startingAfter !== undefined && ++pages === 2) account.links.splice(index - 29, 30);
      return dubAnswer(account, path, query);
    });
    // Some come again.
    expect([...new Set(found.keys)].toSorted()).toEqual(keys);
  });

  it('of dub that refuses every cursor gets few requests', async () => {
    const account = emptyAccount();
    for (let n = 1; n <= 150; n++) account.links.push(dubLink(n));
    const cursors: string[] = [];
    const reading = read('dub', ({ path, query }) => {
      if (query.startingAfter === undefined) return dubAnswer(account, path, query);
      cursors.push(query.startingAfter);
      return { status: 422, json: { error: { message: 'unknown parameter' } } };
    });
    await expect(reading).rejects.toThrow('unknown parameter');
    expect(cursors.length).toBeLessThanOrEqual(10);
  });

  it('of dub names the folders that the key may not read', async () => {
    const account = emptyAccount();
    account.folders.push({ id: 'fold_1', name: 'Finance' }, { id: 'fold_2', name: 'Open' });
    account.closedFolders.add('fold_1');
    account.links.push(
      dubLink(1, { folderId: 'fold_1' }),
      dubLink(2, { folderId: 'fold_2' }),
      dubLink(3, { folderId: 'fold_9' }),
    );
    const { keys, errors } = await ofDub(account);
    expect(keys).toEqual(['k2']);
    expect(errors).toEqual([
      'the key may not read the folder "Finance": its links are left out',
      'the key may not read the folder fold_9: its links are left out',
    ]);
  });

  it('of another Waymark, which lists the links of all folders at once, has each link once', async () => {
    const account = emptyAccount();
    account.folders.push({ id: 'fold_1', name: 'Campaigns' }, { id: 'fold_2', name: 'Empty' });
    account.links.push(dubLink(1), dubLink(2, { folderId: 'fold_1' }));
    const all = { ...account, links: account.links.map(({ folderId: _id, ...link }) => link) };
    const { links, requests } = await read('dub', ({ path, query }) => {
      const answer = dubAnswer(path === '/links' && query.folderId === undefined ? all : account, path, query);
      const listed = path === '/links' ? (answer.json as { id: string }[]) : [];
      return listed.length === 0
        ? answer
        : { json: listed.map(({ id }) => account.links.find((link) => link.id === id)) };
    });
    expect(links.map(({ key, folder }) => [key, folder])).toEqual([
      ['k1', null],
      ['k2', 'Campaigns'],
    ]);
    expect(requests.filter(({ query }) => query.folderId === 'fold_1')).toEqual([]);
  });

  it('of dub that answers the same links again and again ends the import', async () => {
    const reading = read('dub', ({ path }) => ({ json: path === '/links' ? [dubLink(1), dubLink(2)] : [] }));
    await expect(reading).rejects.toThrow('have no ids of their own');
  });

  it('of bitly is read in all groups, through a 429 in the middle and JSON with raw control characters', async () => {
    const link = (id: string) => ({
      id,
      long_url: 'https://a.test',
      title: 'T',
      created_at: '2020-10-26T17:20:40+0000',
    });
    const pauses = ['7', '0'];
    const { links, waits, requests } = await read(
      'bitly',
      ({ path, query }) => {
        if (path === '/groups') return { json: { groups: [{ guid: 'g1' }, { guid: 'g2' }] } };
        if (path.endsWith('/clicks/summary')) return { json: { total_clicks: 4 } };
        if (path.includes('g2')) return { json: { links: [] } };
        if (query.search_after === undefined) {
          return {
            json: { links: [link('b.test/a/b')], pagination: { next: 'https://api-ssl.bitly.com/x?search_after=1' } },
          };
        }
        if (query.search_after === '1' && pauses.length > 0) {
          return { status: 429, headers: { 'retry-after': pauses.shift() ?? '' } };
        }
        if (query.search_after === '2') return { json: { links: [], pagination: { search_after: '3' } } };
        const raw = JSON.stringify({ links: [link('b.test/c')], pagination: { search_after: '2' } });
        return { text: raw.replace('"T"', '"two\nlines\u0001"') };
      },
      { readsCounts: true },
    );
    expect(links.map(({ key, counts }) => [key, counts?.clicks])).toEqual([
      ['a/b', 4],
      ['c', 4],
    ]);
    expect(links[1]?.fields.title).toBe('two lines ');
    // `Retry-After: 0` leads to a pause, too.
    expect(waits).toEqual([7000, 1000]);
    expect(requests.filter(({ path }) => path.endsWith('/summary')).map(({ path }) => path)).toEqual([
      '/bitlinks/b.test/a/b/clicks/summary',
      '/bitlinks/b.test/c/clicks/summary',
    ]);
  });

  describe('with a request for each link', () => {
    const answersOf =
      (count: number, refusals: Readonly<Record<number, number>>) =>
      ({ path }: StubRequest): StubAnswer => {
        if (path === '/groups') return { json: { groups: [{ guid: 'g1' }] } };
        const number = Number(/b\.test\/(\d+)\//.exec(path)?.[1]);
        if (refusals[number] !== undefined) return { status: refusals[number], json: { message: 'NO' } };
        if (path.endsWith('/summary')) return { json: { total_clicks: number } };
        return {
          json: {
            links: Array.from({ length: count }, (_, n) => ({ id: `b.test/${n + 1}`, long_url: 'https://a.test' })),
          },
        };
      };
    const bitly = (count: number, refusals: Record<number, number>, options: Reading = {}) =>
      read('bitly', answersOf(count, refusals), { readsCounts: true, ...options });

    it('is read to its end if some links are deleted or refused', async () => {
      const { links, errors, lost } = await bitly(5, { 2: 403, 3: 404, 5: 402 });
      expect(links.map(({ row, key, counts }) => [row, key, counts?.clicks])).toEqual([
        [1, '1', 1],
        [2, '2', undefined],
        [4, '4', 4],
        [5, '5', undefined],
      ]);
      expect(errors).toEqual([expect.stringMatching(/answers 404: .*NO/)]);
      expect(lost).toEqual([
        { row: 2, field: 'total_clicks', reason: expect.stringMatching(/^the source does not return it: .*403.*NO/) },
        { row: 5, field: 'total_clicks', reason: expect.stringContaining('402') },
      ]);
    });

    it('ends at many refusals in a row, and has passed on none of these links', async () => {
      const refusals = Object.fromEntries(Array.from({ length: 25 }, (_, n) => [n + 3, 403]));
      const stub = await startStub(answersOf(30, refusals));
      onTestFinished(() => stub.close());
      const { rows } = await openApi({
        ...{ source: 'bitly', address: stub.address, credential: KEY, outbound, readsCounts: true },
        ...{ now: () => NOW, wait: async () => undefined },
      });
      const passed: number[] = [];
      const reading = (async () => {
        for await (const { row } of rows) passed.push(row);
      })();
      await expect(reading).rejects.toThrow('refuses the credentials (403)');
      expect(passed).toEqual([1, 2]);
      expect(stub.requests.filter(({ path }) => path.endsWith('/summary')).length).toBe(22);
    });

    it('ends at refused rules of Shlink before others are passed on, also with links without rules among them', async () => {
      const links = Array.from({ length: 60 }, (_, n) => ({
        ...{ shortCode: `k${n}`, longUrl: 'https://a.test', hasRedirectRules: n % 2 === 1 },
      }));
      const stub = await startStub(({ path }) =>
        path.endsWith('/redirect-rules')
          ? { status: 403, json: { title: 'no rules for this key' } }
          : { json: { shortUrls: { data: links, pagination: { pagesCount: 1 } } } },
      );
      onTestFinished(() => stub.close());
      const { rows } = await openApi({
        ...{ source: 'shlink', address: stub.address, credential: KEY, outbound, readsCounts: false },
        ...{ now: () => NOW, wait: async () => undefined },
      });
      const passed: number[] = [];
      const reading = (async () => {
        for await (const { row } of rows) passed.push(row);
      })();
      await expect(reading).rejects.toThrow('no rules for this key');
      expect(passed).toEqual([1]);
    });

    it('keeps back 500 links at most after a refusal', async () => {
      const link = (n: number) => ({ shortCode: `k${n}`, longUrl: 'https://a.test', hasRedirectRules: n === 1 });
      const stub = await startStub(({ path, query }) => {
        if (path.endsWith('/redirect-rules')) return { status: 403, json: { title: 'no rules for this key' } };
        const page = Number(query.page);
        if (page > 6) return { status: 401, json: {} };
        const data = Array.from({ length: 100 }, (_, n) => link(100 * (page - 1) + n + 1));
        return { json: { shortUrls: { data, pagination: { pagesCount: 7 } } } };
      });
      onTestFinished(() => stub.close());
      const { rows } = await openApi({
        ...{ source: 'shlink', address: stub.address, credential: KEY, outbound, readsCounts: false },
        ...{ now: () => NOW, wait: async () => undefined },
      });
      const passed: number[] = [];
      const reading = (async () => {
        for await (const { row } of rows) passed.push(row);
      })();
      await expect(reading).rejects.toThrow('401');
      expect(passed).toEqual(Array.from({ length: 500 }, (_, n) => n + 1));
    });

    it('sends none for links that an earlier run has processed', async () => {
      const { links, requests } = await bitly(5, {}, { doneRows: 3 });
      expect(links.map(({ row }) => row)).toEqual([1, 2, 3, 4, 5]);
      expect(requests.flatMap(({ path }) => (path.endsWith('/summary') ? [path] : []))).toEqual([
        '/bitlinks/b.test/4/clicks/summary',
        '/bitlinks/b.test/5/clicks/summary',
      ]);
    });
  });

  it('of Short.io is read in all domains, by the tokens of their pages', async () => {
    const { links, requests } = await read('short.io', ({ path, query }) => {
      if (path === '/api/domains')
        return {
          json: [
            { id: 1, hostname: 'one.test' },
            { id: 2, hostname: 'two.test' },
          ],
        };
      const more = query.domain_id === '1' && query.pageToken === undefined;
      const links = [{ path: `${query.domain_id}${query.pageToken ?? ''}`, originalURL: 'https://a.test' }];
      return { json: { count: 1, links, nextPageToken: more ? 'next' : null } };
    });
    expect(links.map(({ domain, key }) => [domain, key])).toEqual([
      ['one.test', '1'],
      ['one.test', '1next'],
      ['two.test', '2'],
    ]);
    expect(requests[0]?.headers.authorization).toBe(KEY);
  });

  it('of Rebrandly is read to its empty page, in the workspace that was named', async () => {
    const link = (n: number) => ({
      id: `r${n}`,
      slashtag: `k${n}`,
      destination: 'https://a.test',
      domain: { fullName: 'r.test' },
    });
    const pages: Record<string, unknown[]> = { '': [link(1), link(2)], r2: [link(3)], r3: [] };
    const { keys, requests } = await read('rebrandly', ({ query }) => ({ json: pages[query.last ?? ''] }), {
      account: 'w1',
    });
    expect(keys).toEqual(['k1', 'k2', 'k3']);
    expect(requests[0]?.headers).toMatchObject({ apikey: KEY, workspace: 'w1' });
  });

  it('of YOURLS is read to its empty page; the signature is in no address', async () => {
    const page = (...names: string[]) =>
      Object.fromEntries(
        names.map((name, n) => [
          `link_${n + 1}`,
          { shorturl: `http://y.test/${name}`, url: 'https://a.test', timestamp: '2020-01-02 03:04:05' },
        ]),
      );
    const pages: Record<string, unknown> = { 0: page('a', 'b'), 2: page('c'), 3: [] };
    const { keys, requests } = await read('yourls', ({ body }) => {
      const form = new URLSearchParams(body);
      if (form.get('signature') !== KEY) return { status: 403 };
      return { json: { links: pages[form.get('start') ?? ''], message: 'success' } };
    });
    expect(keys).toEqual(['a', 'b', 'c']);
    expect(requests.map(({ method, path, query }) => [method, path, query])).toEqual(
      Array(3).fill(['POST', '/yourls-api.php', {}]),
    );
  });

  it('of Shlink is read page after page, with the rules of links that have some', async () => {
    const link = (n: number, hasRedirectRules: boolean) => ({
      ...{
        shortCode: `a/${n}`,
        shortUrl: `https://s.test/a/${n}`,
        longUrl: 'https://a.test',
        domain: 's.test',
        hasRedirectRules,
      },
    });
    const { links, requests } = await read('shlink', ({ path, query }) => {
      if (path.endsWith('/redirect-rules')) {
        const conditions = [{ type: 'device', matchValue: 'ios' }];
        return { json: { redirectRules: [{ longUrl: 'https://i.test', priority: 1, conditions }] } };
      }
      const number = Number(query.page);
      return {
        json: { shortUrls: { data: [link(number, number === 2)], pagination: { currentPage: number, pagesCount: 2 } } },
      };
    });
    expect(links.map(({ key, fields }) => [key, fields.ios])).toEqual([
      ['a/1', undefined],
      ['a/2', 'https://i.test'],
    ]);
    expect(requests[0]?.headers['x-api-key']).toBe(KEY);
    expect(requests.at(-1)).toMatchObject({
      path: '/rest/v3/short-urls/a%2F2/redirect-rules',
      query: { domain: 's.test' },
    });
  });

  it('of Kutt is read to its empty page', async () => {
    const link = (n: number) => ({
      address: `k${n}`,
      target: 'https://a.test',
      link: `https://kutt.test/k${n}`,
      visit_count: n,
    });
    const pages: Record<string, unknown[]> = { 0: [link(1), link(2)], 2: [link(3)], 3: [] };
    const { keys, requests } = await read('kutt', ({ query }) => ({
      json: { total: 3, data: pages[query.skip ?? ''] },
    }));
    expect(keys).toEqual(['k1', 'k2', 'k3']);
    expect(requests[0]?.headers['x-api-key']).toBe(KEY);
  });

  it('that fails for a while is retried after growing pauses; a date in Retry-After is used', async () => {
    const { keys, waits } = await read('kutt', ({ query }, number) => {
      if (number <= 2) return { status: 503 };
      if (number === 3) return { status: 429, headers: { 'retry-after': new Date(NOW + 30_000).toUTCString() } };
      return {
        json: { data: query.skip === '0' ? [{ address: 'a', target: 'https://a.test', domain: 'k.test' }] : [] },
      };
    });
    expect(keys).toEqual(['a']);
    expect(waits).toEqual([1000, 2000, 30_000]);
  });

  it('that is unavailable for some minutes after an answer is retried, after the pause of Retry-After if it is longer', async () => {
    const page = (skip: string | undefined) => ({
      json: { data: skip === '0' ? [{ address: 'a', target: 'https://a.test', domain: 'k.test' }] : [] },
    });
    const { keys, waits } = await read('kutt', ({ query }, number) => {
      if (number === 2) return { status: 503, headers: { 'retry-after': '600' } };
      return number > 2 && number <= 12 ? { status: 502 } : page(query.skip);
    });
    expect(keys).toEqual(['a']);
    const growing = [2000, 4000, 8000, 16_000, 32_000];
    expect(waits).toEqual([600_000, ...growing, ...Array(5).fill(60_000)]);
  });

  it.each([408, 425])('that answers %d for a while, as a proxy under load may, is retried', async (status) => {
    const { keys, waits } = await read('kutt', (_request, number) =>
      number <= 2 ? { status } : { json: { data: [] } },
    );
    expect([keys, waits]).toEqual([[], [1000, 2000]]);
  });

  it('that is unavailable with a short Retry-After is retried after the same growing pauses as one without it', async () => {
    const away = { status: 503, headers: { 'retry-after': '1' } };
    const { waits } = await read('kutt', (_request, number) => (number <= 5 ? away : { json: { data: [] } }));
    expect(waits).toEqual([1000, 2000, 4000, 8000, 16_000]);
  });

  it('that answers each attempt with a Retry-After of an hour ends the import', async () => {
    const stub = await startStub(() => ({ status: 503, headers: { 'retry-after': '3600' } }));
    onTestFinished(() => stub.close());
    const waits: number[] = [];
    const { rows } = await openApi({
      ...{ source: 'kutt', address: stub.address, credential: KEY, outbound, readsCounts: false },
      ...{ now: () => NOW, wait: async (ms) => void waits.push(ms) },
    });
    await expect(rows[Symbol.asyncIterator]().next()).rejects.toThrow('does not answer: answers 503');
    expect(waits).toEqual([3_600_000, 3_600_000]);
  });

  it('that stays away after it has answered ends the import after some ten minutes', async () => {
    const waits: number[] = [];
    const stub = await startStub((_request, number) =>
      number === 1
        ? { json: { data: [{ address: 'a', target: 'https://a.test', domain: 'k.test' }] } }
        : { status: 502 },
    );
    onTestFinished(() => stub.close());
    const { rows } = await openApi({
      ...{ source: 'kutt', address: stub.address, credential: KEY, outbound, readsCounts: false },
      ...{ now: () => NOW, wait: async (ms) => void waits.push(ms) },
    });
    const reading = (async () => {
      for await (const _row of rows);
    })();
    await expect(reading).rejects.toThrow('does not answer: answers 502');
    expect(waits.reduce((sum, ms) => sum + ms) / 60_000).toBeCloseTo(10, 0);
  });

  it('that refuses for a while without Retry-After is retried after growing pauses, a minute at most', async () => {
    const { waits } = await read('kutt', (_request, number) =>
      number <= 9 ? { status: 429 } : { json: { data: [] } },
    );
    expect(waits).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  });

  it.each<[string, StubAnswer, string]>([
    ['refuses the key', { status: 401, json: { message: 'bad key' } }, 'refuses the credentials (401)'],
    [
      'redirects',
      { status: 302, headers: { location: 'https://elsewhere.test/' } },
      'redirects to https://elsewhere.test/',
    ],
    ['answers a page of HTML', { text: '<html>' }, 'does not answer JSON: <html>'],
    ['quotes the key', { status: 400, text: `${'x'.repeat(190)}${KEY}` }, `answers 400: ${'x'.repeat(190)}…`],
    ['redirects with the key', { status: 302, headers: { location: `/${KEY}` } }, 'redirects to /…: give'],
    ['answers without a list', { json: { data: {} } }, 'has no list "data"'],
    ['stays away', { status: 500 }, 'does not answer: answers 500'],
  ])('that %s ends the import with the reason, which never has the key', async (_what, answer, message) => {
    const failure = await read('kutt', () => answer).catch((err: Error) => err);
    expect(failure).toMatchObject({ name: 'ImportError', message: expect.stringContaining(message) });
    expect(String(failure)).not.toContain(KEY.slice(0, 5));
  });

  const kuttLink = (key: string) => ({ address: key, target: 'https://a.test', domain: 'k.test' });
  const yourlsPage = (key: string) => ({ link_1: { shorturl: `http://y.test/${key}`, url: 'https://a.test' } });

  it.each<[Source, (request: StubRequest, number: number) => StubAnswer]>([
    ['kutt', () => ({ json: { data: [kuttLink('a'), kuttLink('b')] } })],
    ['yourls', (_request, number) => ({ json: { links: yourlsPage(String(number < 3 ? number : 3 + (number % 3))) } })],
  ])('of %s that answers the same pages again and again ends the import', async (source, answer) => {
    await expect(read(source, answer)).rejects.toThrow('the source answers the same page again and again');
  });

  it('of Shlink that lists a link twice, as a database may that sorts by equal times, is read to its end', async () => {
    const page = (number: number) =>
      Array.from({ length: 3 }, (_, index) => ({
        ...{ shortCode: `${(3 * number + index) % 5}`, longUrl: 'https://a.test', domain: 's.test' },
      }));
    const { keys } = await read('shlink', ({ query }) => ({
      json: { shortUrls: { data: page(Number(query.page)), pagination: { pagesCount: 4 } } },
    }));
    expect(keys).toEqual(['3', '4', '0', '1', '2', '3', '4', '0', '1', '2', '3', '4']);
  });

  it('of dub with more folders than fit into memory ends the import', async () => {
    const name = 'n'.repeat(10_000);
    const page = (number: number) => Array.from({ length: 50 }, (_, index) => ({ id: `f${number}_${index}`, name }));
    const reading = read('dub', ({ path, query }) => ({ json: path === '/folders' ? page(Number(query.page)) : [] }));
    await expect(reading).rejects.toThrow('the source has too many folders');
  });

  /** A stub of Shlink with links k0, k1, …, of which some have rules. The second argument of `before` deletes a link. */
  function shlinkOf(
    count: number,
    hasRedirectRules: (key: string) => boolean,
    before: (request: StubRequest, remove: (key: string) => void) => StubAnswer | undefined,
  ) {
    let left = Array.from({ length: count }, (_, n) => `k${n}`);
    return (request: StubRequest): StubAnswer => {
      const early = before(request, (key) => {
        left = left.filter((other) => other !== key);
      });
      if (early !== undefined) return early;
      if (request.path.endsWith('/redirect-rules')) return { json: { redirectRules: [] } };
      const at = Number(request.query.page);
      const data = left.slice((at - 1) * 100, at * 100).map((shortCode) => ({
        ...{ shortCode, longUrl: 'https://a.test', hasRedirectRules: hasRedirectRules(shortCode) },
      }));
      const pagination = { pagesCount: Math.ceil(left.length / 100), totalItems: left.length };
      return { json: { shortUrls: { data, pagination } } };
    };
  }

  it('of Shlink is read with all other links if some are deleted, which moves the others to earlier pages', async () => {
    const refused = ['k3', 'k100', 'k150'];
    const answer = shlinkOf(
      203,
      (key) => refused.includes(key),
      ({ path }, remove) => {
        const key = /short-urls\/([^/]+)\/redirect-rules$/.exec(path)?.[1];
        if (key === undefined) return undefined;
        remove(key);
        return { status: 404, json: {} };
      },
    );
    const { keys, errors } = await read('shlink', answer);
    expect(keys).toEqual(Array.from({ length: 203 }, (_, n) => `k${n}`).filter((key) => !refused.includes(key)));
    expect(errors).toHaveLength(3);
  });

  it('of Shlink is read with all other links if many without rules are deleted on pages that were read', async () => {
    const deleted = new Map([
      ['2', ['k3']],
      ['4', Array.from({ length: 150 }, (_, n) => `k${n + 5}`)],
    ]);
    const answer = shlinkOf(
      450,
      () => false,
      ({ query }, remove) => {
        for (const key of deleted.get(query.page ?? '') ?? []) remove(key);
        deleted.delete(query.page ?? '');
        return undefined;
      },
    );
    const { keys } = await read('shlink', answer);
    expect(keys).toEqual(Array.from({ length: 450 }, (_, n) => `k${n}`));
  });

  it('of Shlink whose list becomes shorter again and again ends the import', async () => {
    const link = { shortCode: 'a', longUrl: 'https://a.test' };
    const reading = read('shlink', (_request, number) => ({
      json: { shortUrls: { data: [link], pagination: { pagesCount: 9, totalItems: 1_000 - number } } },
    }));
    await expect(reading).rejects.toThrow('the links of the source change while they are read');
  });

  it('of Shlink has the rules of one link in memory at a time', async () => {
    const link = (key: string) => ({ shortCode: key, longUrl: 'https://a.test', hasRedirectRules: true });
    const stub = await startStub(({ path }) => ({
      json: path.endsWith('/redirect-rules')
        ? { redirectRules: [] }
        : { shortUrls: { data: ['a', 'b', 'c'].map(link), pagination: { pagesCount: 1 } } },
    }));
    onTestFinished(() => stub.close());
    const { rows } = await openApi({
      ...{ source: 'shlink', address: stub.address, credential: KEY, outbound, readsCounts: false },
      ...{ now: () => NOW, wait: async () => undefined },
    });
    const countReads = () => stub.requests.filter(({ path }) => path.endsWith('/redirect-rules')).length;
    const readsAtRow: number[] = [];
    for await (const _row of rows) readsAtRow.push(countReads());
    expect(readsAtRow).toEqual([1, 2, 3]);
  });

  it('on a private address gets no request', async () => {
    const guarded = createOutbound({ allowedRanges: [] });
    onTestFinished(() => guarded.close());
    const opened = await openApi({
      ...{ source: 'kutt', address: 'http://127.0.0.1:1', credential: KEY, outbound: guarded, readsCounts: false },
      ...{ now: () => NOW, wait: async () => undefined },
    });
    const first = opened.rows[Symbol.asyncIterator]().next();
    await expect(first).rejects.toThrow('the host has no public address');
  });

  it('needs an address for self-hosted systems, and does not exist for tables', async () => {
    const request = {
      address: undefined,
      credential: KEY,
      outbound,
      readsCounts: false,
      now: () => NOW,
      wait: async () => undefined,
    };
    await expect(openApi({ ...request, source: 'shlink' })).rejects.toThrow('the address of yours');
    await expect(openApi({ ...request, source: 'csv' })).rejects.toThrow('csv has no API');
  });
});
