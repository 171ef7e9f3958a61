import type { ImportSource } from '@waymark/contract';
import { createOutbound } from '@waymark/outbound';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openApi } from '../../src/index.js';
import { aDubLink, type DubAccount, dubAnswer, emptyAccount } from '../history/stub-dub.js';
import { KEY, NOW, outbound, read } from './read-api.js';
import type { StubAnswer, StubRequest } from './stub-server.js';

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
    expect(account.links).toHaveLength(keys.length - 2);
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
    expect(account.links).toHaveLength(keys.length - 2);
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
    expect(account.links).toHaveLength(keys.length - 30);
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

  const kuttLink = (key: string) => ({ address: key, target: 'https://a.test', domain: 'k.test' });
  const yourlsPage = (key: string) => ({ link_1: { shorturl: `http://y.test/${key}`, url: 'https://a.test' } });

  it.each<[ImportSource, (request: StubRequest, number: number) => StubAnswer]>([
    ['kutt', () => ({ json: { data: [kuttLink('a'), kuttLink('b')] } })],
    ['yourls', (_request, number) => ({ json: { links: yourlsPage(String(number < 3 ? number : 3 + (number % 3))) } })],
  ])('of %s that answers the same pages again and again ends the import', async (source, answer) => {
    await expect(read(source, answer)).rejects.toThrow('the source answers the same page again and again');
  });

  it('of dub with more folders than fit into memory ends the import', async () => {
    const name = 'n'.repeat(10_000);
    const page = (number: number) => Array.from({ length: 50 }, (_, index) => ({ id: `f${number}_${index}`, name }));
    const reading = read('dub', ({ path, query }) => ({ json: path === '/folders' ? page(Number(query.page)) : [] }));
    await expect(reading).rejects.toThrow('the source has too many folders');
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
