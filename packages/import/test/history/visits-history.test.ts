import { API_READ, normaliseKey } from '@waymark/catalog';
import type { ImportFileFormat } from '@waymark/contract';
import { createOutbound } from '@waymark/outbound';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openApiHistory, openFileHistory, parseDomainMap } from '../../src/index.js';
import { type StubAnswer, type StubRequest, startStub } from '../apis/stub-server.js';
import { startHistory, type TestHistory, type Workspace } from './test-history.js';

const CHROME =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36';
const BOT = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)';

let history: TestHistory;
beforeAll(async () => {
  history = await startHistory();
});
afterAll(() => history.close());

async function clicksOf(workspace: Workspace, key: string): Promise<number | undefined> {
  const link = await history.catalog.links.findByAddress(workspace.host, normaliseKey(key), API_READ);
  const [object] = await history.catalog.links.objects(workspace.id, link ? [link] : [], { hidesPasswords: false });
  return object?.clicks;
}

describe('the log of YOURLS', () => {
  const dump = `-- MySQL dump
INSERT INTO \`yourls_log\` VALUES (1,'2020-03-01 12:00:00','Ab','direct','${CHROME}','203.0.113.9','DE'),
(2,'2020-03-01 12:00:00','Ab','https://www.news.test/p?q=it\\'s','${CHROME}','203.0.113.9',''),
(3,'2020-03-01 12:00:01','Ab','direct','${BOT}','203.0.113.9','US'),(4,'2021-07-01 00:00:00','gone','direct','${CHROME}','::1','US'),
(5,'2021-02-30 00:00:00','Ab','direct','${CHROME}','::1','US');
INSERT INTO \`yourls_url\` VALUES ('Ab','https://a.test','A','2020-01-01 00:00:00','::1',3);
`;
  const table = `click_id;click_time;shorturl;referrer;user_agent;ip_address;country_code
1;2020-03-01 12:00:00;Ab;direct;"${CHROME}";203.0.113.9;DE
6;2022-03-01 12:00:00;Ab;direct;"${CHROME}";203.0.113.9;DE
;2022-03-01 12:00:00;Ab;direct;"${CHROME}";203.0.113.9;DE
`;
  const logOf = (content: string, format: ImportFileFormat) =>
    openFileHistory({
      ...{ source: 'yourls', format, name: content, timezone: 'Europe/Berlin' },
      async *open() {
        yield Buffer.from(content);
      },
    });

  it('becomes clicks in their zone, with what their user agent and referrer say, from a dump or a table, each once', async () => {
    const acme = await history.workspace();
    await history.table(acme, 'url,key,clicks\nhttps://a.test,Ab,3\n', { history: 'counts' });
    const first = await history.events(acme, logOf(dump, 'sql'), { source: 'yourls' });
    expect(first).toMatchObject({ read: 5, clicks: 2, bots: 1, rejected: 2 });
    expect(first.rejections.map(({ row, reason }) => [row, reason])).toEqual([
      [5, 'click_time "2021-02-30 00:00:00" is no time that exists'],
      [4, `there is no link ${acme.host}/gone in this workspace`],
    ]);
    const [direct, referred] = (await history.rows(acme, 'click_events')).toSorted((one) =>
      one.referer === '(direct)' ? -1 : 1,
    );
    expect(direct).toMatchObject({
      ...{
        timestamp: '2020-03-01T11:00:00.000Z',
        country: 'DE',
        continent: 'EU',
        device: 'Desktop',
        browser: 'Chrome',
      },
      ...{ os: 'Windows', referer: '(direct)', url: 'https://a.test', trigger: 'link', ip: '' },
    });
    expect(referred).toMatchObject({ referer: 'news.test', country: 'Unknown' });
    expect(await clicksOf(acme, 'Ab')).toBe(2);
    const again = await history.events(acme, logOf(table, 'csv'), { source: 'yourls' });
    expect(again).toMatchObject({ read: 3, clicks: 1, repeated: 1, rejected: 1 });
    expect(again.rejections[0]?.reason).toBe('click_id is missing');
    expect(await clicksOf(acme, 'Ab')).toBe(3);
  });

  /** A workspace with a link, and a log of 7,000 visits of it that cannot be read to its end at first. */
  async function brokenLog() {
    const acme = await history.workspace();
    await history.table(acme, 'url,key\nhttps://a.test,Ab\n');
    const rows = Array.from({ length: 7_000 }, (_, n) => `${n};2020-03-01 12:00:00;Ab;direct;;;DE`);
    const content = ['click_id;click_time;shorturl;referrer;user_agent;ip_address;country_code', ...rows].join('\n');
    const state = { isBroken: true };
    const logIn = (timezone: string) =>
      openFileHistory({
        ...{ source: 'yourls', format: 'csv', name: 'log', timezone },
        async *open() {
          for (let at = 0; at < content.length; at += 16_384) {
            if (state.isBroken && at > content.length * 0.9) throw new Error('the disk is gone');
            yield Buffer.from(content.slice(at, at + 16_384));
          }
        },
      });
    return { acme, state, logIn };
  }

  it('goes on where it was after a failure in the middle, in the same zone only', async () => {
    const { acme, state, logIn } = await brokenLog();
    const read = (timezone: string) => history.events(acme, logIn(timezone), { source: 'yourls' });
    await expect(read('UTC')).rejects.toThrow('the disk is gone');
    expect(await clicksOf(acme, 'Ab')).toBe(5_000);
    state.isBroken = false;
    await expect(read('Europe/Berlin')).rejects.toThrow('stored with the time zone UTC: continue with that one');
    expect(await read('UTC')).toMatchObject({ read: 7_000, clicks: 7_000 });
    expect(await clicksOf(acme, 'Ab')).toBe(7_000);
  });

  it('is read from its start again with other domains, where events were rejected', async () => {
    const { acme, state, logIn } = await brokenLog();
    const read = (domain: string) =>
      history.events(acme, logIn('UTC'), { source: 'yourls', domains: parseDomainMap([domain]) });
    await expect(read('wrong.example')).rejects.toThrow('the disk is gone');
    state.isBroken = false;
    expect(await read(acme.host)).toMatchObject({ read: 7_000, clicks: 7_000, rejected: 0 });
    expect(await clicksOf(acme, 'Ab')).toBe(7_000);
  });
});

describe('the visits of Shlink', () => {
  type Visit = Readonly<Record<string, unknown>> & { readonly date: string };
  const visit = (date: string, fields: object = {}): Visit => ({
    ...{ referer: '', date, userAgent: CHROME, potentialBot: false, visitedUrl: '', redirectUrl: null },
    visitLocation: {
      ...{ countryCode: 'US', countryName: 'United States', regionName: 'Texas', cityName: 'Austin' },
      ...{ latitude: 30.2, longitude: -97.7, timezone: 'America/Chicago', isEmpty: false },
    },
    ...fields,
  });

  async function shlink(
    links: Record<string, Visit[]>,
    before: (request: StubRequest) => StubAnswer | undefined = () => undefined,
  ) {
    const linkOf = (shortCode: string) => ({
      ...{ shortCode, shortUrl: `https://s.test/${shortCode}`, longUrl: 'https://a.test', domain: null },
      ...{ dateCreated: '2020-01-01T00:00:00+00:00', tags: [], hasRedirectRules: false },
    });
    const stub = await startStub((request) => {
      const early = before(request);
      if (early?.status === 404) delete links[/short-urls\/([^/]+)\/visits$/.exec(request.path)?.[1] ?? ''];
      if (early !== undefined) return early;
      const { path, query } = request;
      const code = /^\/rest\/v3\/short-urls\/([^/]+)\/visits$/.exec(path)?.[1];
      if (code === undefined) {
        const [at, perPage] = [Number(query.page), Number(query.itemsPerPage)];
        const keys = Object.keys(links).filter((key) => query.endDate === undefined || !key.startsWith('made later'));
        const data = keys.slice((at - 1) * perPage, at * perPage).map(linkOf);
        const pagination = { currentPage: at, pagesCount: Math.ceil(keys.length / perPage), totalItems: keys.length };
        return { json: { shortUrls: { data, pagination } } };
      }
      const size = Number(query.itemsPerPage);
      const newestFirst = (links[decodeURIComponent(code)] ?? []).toReversed();
      const page = Number(query.page);
      const pagination = {
        currentPage: page,
        pagesCount: Math.ceil(newestFirst.length / size),
        totalItems: newestFirst.length,
      };
      return { json: { visits: { data: newestFirst.slice((page - 1) * size, page * size), pagination } } };
    });
    onTestFinished(() => stub.close());
    return stub.address;
  }

  it('become clicks, equal ones as many as there are, and are imported again without a change', async () => {
    const acme = await history.workspace();
    const twice = visit('2021-05-01T02:00:00+02:00');
    const later = visit('2021-05-02T00:00:00+00:00', { referer: 'https://news.test/x', visitLocation: null });
    const bots = [
      visit('2021-05-03T00:00:00+00:00', { potentialBot: true }),
      visit('2021-05-03T00:00:00+00:00', { userAgent: BOT }),
    ];
    const links = { 'a/b': [twice, twice, later, ...bots], none: [] };
    const address = await shlink(links);
    expect(await history.api(acme, 'shlink', address)).toMatchObject({ read: 5, clicks: 3, bots: 2, rejected: 0 });
    const clicks = await history.rows(acme, 'click_events');
    expect(clicks.filter(({ city }) => city === 'Austin')).toMatchObject([
      { timestamp: '2021-05-01T00:00:00.000Z', country: 'US', browser: 'Chrome', referer: '(direct)' },
      { timestamp: '2021-05-01T00:00:00.000Z' },
    ]);
    // Located meanwhile, and one more of the same second.
    links['a/b'].splice(2, 1, twice, { ...later, ...visit(later.date), referer: later.referer });
    expect(await history.api(acme, 'shlink', address)).toMatchObject({ clicks: 1, repeated: 3, bots: 2 });
    expect(await clicksOf(acme, 'a/b')).toBe(4);
    expect(await clicksOf(acme, 'none')).toBe(0);
  });

  it('are read to the end if links are deleted meanwhile', async () => {
    const acme = await history.workspace();
    const links = { a: [visit('2021-05-01T00:00:00+00:00')], gone: [], b: [visit('2021-05-01T00:00:00+00:00')] };
    const address = await shlink(links, ({ path }) =>
      path.endsWith('/gone/visits') ? { status: 404, json: { title: 'Short URL not found' } } : undefined,
    );
    const imported = await history.api(acme, 'shlink', address);
    expect(imported).toMatchObject({ read: 3, clicks: 2, rejected: 1 });
    expect(imported.rejections).toMatchObject([
      {
        record: { key: 'gone' },
        reason: expect.stringMatching(/^the source does not return the visits of gone: .*404/),
      },
    ]);
  });

  it('are read of all other links if those of one are refused for good, as by a firewall for its code', async () => {
    const acme = await history.workspace();
    const refused = { 'wp-login.php': 406, 'b%20b': 400 };
    const links = { a: [visit('2021-05-01T00:00:00+00:00')], 'wp-login.php': [], 'b b': [], c: [] };
    const address = await shlink(links, ({ path }) => {
      const status = Object.entries(refused).find(([code]) => path.endsWith(`/${code}/visits`))?.[1];
      return status === undefined ? undefined : { status, text: 'no' };
    });
    const imported = await history.api(acme, 'shlink', address);
    expect(imported).toMatchObject({ read: 3, clicks: 1, rejected: 2 });
    expect(imported.rejections.map(({ reason }) => reason)).toEqual([
      expect.stringMatching(/^the source does not return the visits of wp-login.php: .* answers 406: no$/),
      expect.stringMatching(/^the source does not return the visits of b b: .* answers 400: no$/),
    ]);
  });

  it('are read of all other links if one is deleted, which moves the others to earlier pages', async () => {
    const acme = await history.workspace();
    const links = manyLinks(203);
    const refused = ['k3', 'k4', 'k150'];
    const address = await shlink(links, ({ path }) =>
      refused.some((key) => path.endsWith(`/${key}/visits`)) ? { status: 404, json: {} } : undefined,
    );
    const imported = await history.api(acme, 'shlink', address);
    expect(imported).toMatchObject({ read: 203, clicks: 200, repeated: 0, rejected: 3 });
    expect(imported.rejections.map(({ record }) => (record as { key: string }).key)).toEqual(refused);
  });

  const manyLinks = (count: number): Record<string, Visit[]> =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, [visit('2021-05-01T00:00:00+00:00')]]));

  it('are read of all other links if some are deleted whose visits were read, while others are made', async () => {
    const acme = await history.workspace();
    const links = manyLinks(350);
    const deletedAt: Record<string, string[]> = {
      k99: ['k3'],
      k299: Array.from({ length: 150 }, (_, n) => `k${n + 5}`),
    };
    const address = await shlink(links, ({ path }) => {
      const key = /short-urls\/([^/]+)\/visits$/.exec(path)?.[1] ?? '';
      for (const deleted of deletedAt[key] ?? []) {
        delete links[deleted];
        links[`made later ${deleted}`] = [];
      }
      return undefined;
    });
    const imported = await history.api(acme, 'shlink', address);
    expect(imported).toMatchObject({ read: 350, clicks: 350, repeated: 0, rejected: 0 });
  });

  describe('from a position that an earlier run has stored', () => {
    const outbound = createOutbound({ allowedRanges: ['127.0.0.1'] });
    afterAll(() => outbound.close());

    async function keysFrom(address: string, position: object): Promise<string[]> {
      const { read } = openApiHistory({
        ...{ source: 'shlink', address, credential: 'key', readsCounts: false, outbound, now: Date.now },
        wait: async () => undefined,
      });
      const keys: string[] = [];
      for await (const { items } of read(JSON.stringify(position))) {
        for (const { event } of items) if (event?.kind === 'click') keys.push(event.address.key);
      }
      return keys;
    }
    const keys = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => `k${n + from}`);
    /** As versions have stored it that did not know the size of the list. */
    const stored = { links: 2, link: 5, visits: 1, row: 105, end: '2026-01-01T00:00:00.000Z', second: '', counts: {} };

    it('are read from there on', async () => {
      const address = await shlink(manyLinks(205));
      expect(await keysFrom(address, stored)).toEqual(keys(105, 205));
      expect(await keysFrom(address, { ...stored, listed: 205 })).toEqual(keys(105, 205));
    });

    it('are read of all other links if some were deleted meanwhile', async () => {
      const links = manyLinks(205);
      const address = await shlink(links);
      for (const key of keys(50, 57)) delete links[key];
      const between = { ...stored, visits: 2, total: 1_500, listed: 205 };
      expect(await keysFrom(address, between)).toEqual(keys(105, 205));
      for (const key of keys(150, 152)) delete links[key];
      const expected = [...keys(103, 150), ...keys(152, 205)];
      expect(await keysFrom(address, { ...stored, listed: 205 })).toEqual(expected);
    });
  });

  it('are read to the last one by a later run if the source refuses some for a while', async () => {
    const acme = await history.workspace();
    const links = { a: [visit('2021-05-01T00:00:00+00:00')], b: [visit('2021-05-01T00:00:00+00:00')] };
    let isRefusing = true;
    const address = await shlink(links, ({ path }) =>
      isRefusing && path.endsWith('/a/visits') ? { status: 403, text: 'blocked by a firewall' } : undefined,
    );
    await expect(history.api(acme, 'shlink', address)).rejects.toThrow(
      /^the source does not return the visits of a: .*blocked by a firewall/,
    );
    isRefusing = false;
    expect(await history.api(acme, 'shlink', address)).toMatchObject({ clicks: 2, rejected: 0 });
  });

  it('are read again when some appear while pages are read, and none is doubled', async () => {
    const acme = await history.workspace();
    const visits = Array.from({ length: 1_500 }, (_, n) =>
      visit(new Date(Date.UTC(2021, 1, 1) + 1000 * Math.floor(n / 3)).toISOString()),
    );
    const links = { a: visits };
    let pages = 0;
    const address = await shlink(links, ({ path, query }) => {
      if (!path.endsWith('/visits')) return undefined;
      pages++;
      if (query.endDate === undefined) throw new Error('the end is missing');
      if (pages === 2) return { status: 429, headers: { 'retry-after': '3' } };
      // This one ignores the end, so that the second page begins with visits of the first.
      if (pages === 3) links.a.push(visit('2021-04-01T00:00:00Z'));
      return undefined;
    });
    expect(await history.api(acme, 'shlink', address)).toMatchObject({ clicks: 1_501 });
    expect(await clicksOf(acme, 'a')).toBe(1_501);
  });
});
