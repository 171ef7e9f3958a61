import { createCatalog, type LinkRecord } from '@waymark/catalog';
import { type PrivacySignal, parseResourceId } from '@waymark/contract';
import { waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, BROWSER, DOMAIN, startIngest, type TestIngest } from './test-ingest.js';

const GPC = { 'sec-gpc': '1' };
const DNT = { dnt: '1' };
/** What could identify the visitor, in every place that a request has. */
const VISITOR = {
  'user-agent': BROWSER,
  'cf-ipcountry': 'US',
  'cf-region-code': 'TX',
  'cf-ipcity': 'Marfa',
  referer: 'https://forum.example/members/ada?x=1',
};

let ingest: TestIngest;
beforeAll(async () => {
  ingest = await startIngest();
});
afterAll(() => ingest.stop());

test.each([
  ['a parameter', '?dub-no-track=1', {}],
  ['a header', '', { 'dub-no-track': '1' }],
])(
  'dub-no-track as %s: no click is recorded; only the parameter keeps the id out of the destination',
  async (_how, query, headers) => {
    const link = await ingest.link({ trackConversion: true });
    const answer = await ingest.visit(`/${link.key}${query}`, headers);
    const id = new URL(String(answer.headers.location)).searchParams.get('dub_id');
    expect(id === null).toBe(query !== '');
    expect(cookiesOf(answer)).toEqual([]);
    const clickId = await ingest.click(link);
    expect((await clicksWhen(1, link)).map((row) => row.click_id)).toEqual([clickId]);
  },
);

const set = (privacySignal: PrivacySignal) => ingest.catalog.workspaces.update(ingest.workspaceId, { privacySignal });
const clicksOf = (link: LinkRecord) =>
  ingest.rows('click_events', 'link_id = {link:UInt64}', { link: parseResourceId('link', link.id) });
const clicksWhen = (count: number, link: LinkRecord) =>
  ingest.rowsWhen(count, 'click_events', 'link_id = {link:UInt64}', { link: parseResourceId('link', link.id) });
const cookiesOf = (answer: Answer) => [answer.headers['set-cookie'] ?? []].flat();

let visitors = 0;
function report(path: string, body: object, headers: Record<string, string>, port: 'linkApp' | 'trackApp') {
  visitors += 1;
  return ingest[port].inject({
    method: 'POST',
    url: path,
    headers: { ...VISITOR, 'x-forwarded-for': `198.51.100.${visitors}`, ...headers },
    payload: body,
  });
}

/** A row without what could identify its visitor. */
const UNIDENTIFIED = {
  ...{ ip: '', country: 'US', region: 'Unknown', city: 'Unknown', device: 'Desktop', browser: 'Chrome', os: 'Mac OS' },
  ...{ referer: 'forum.example', referer_url: 'forum.example' },
};
/** A row without its id, whose letters are random. */
const textOf = (row: Record<string, unknown>) => JSON.stringify(row).replaceAll(String(row.click_id), '');
const identifying = ['Marfa', 'TX', 'AppleWebKit', 'members', 'ada@example.com', '198.51.100'];

describe('a visit with Sec-GPC or DNT', () => {
  test('is a click like others by default', async () => {
    const link = await ingest.link({ trackConversion: true });
    const answer = await ingest.visit(`/${link.key}`, { ...VISITOR, ...GPC, ...DNT });
    expect(answer.headers.location).toContain('dub_id=');
    expect(cookiesOf(answer)).toHaveLength(1);
    const [click] = await clicksWhen(1, link);
    expect(click).toMatchObject({ city: 'Marfa' });
    expect(click?.ip).not.toBe('');
  });

  test.each([
    ['Sec-GPC', GPC],
    ['DNT', DNT],
  ] as const)('%s with no-id counts each visit, and passes and stores nothing that identifies', async (_name, asks) => {
    const link = await ingest.link({ trackConversion: true, url: 'https://acme.com/page?a=1' });
    await set('no-id');
    const address = { 'x-forwarded-for': '198.51.100.77' };
    const visit = () => ingest.visit(`/${link.key}?email=ada@example.com`, { ...VISITOR, ...address, ...asks });
    const answers = [await visit(), await visit()];
    for (const answer of answers) {
      expect(answer.statusCode).toBe(302);
      // The destination still gets the visitor's own parameters.
      expect(answer.headers.location).toBe('https://acme.com/page?a=1&email=ada@example.com');
      expect(cookiesOf(answer)).toEqual([]);
    }
    const clicks = await clicksWhen(2, link);
    for (const click of clicks) {
      expect(click).toMatchObject({ ...UNIDENTIFIED, url: 'https://acme.com/page?a=1' });
      expect(JSON.parse(String(click.payload)).click).toMatchObject({ ua: 'Unknown', city: 'Unknown' });
      for (const text of identifying) expect(textOf(click)).not.toContain(text);
    }
    // Others are recorded as ever, with one click an hour.
    await ingest.visit(`/${link.key}`, { ...VISITOR, ...address });
    await ingest.visit(`/${link.key}`, { ...VISITOR, ...address, 'sec-gpc': '0', dnt: 'unspecified' });
    expect((await clicksWhen(3, link)).filter(({ city }) => city === 'Marfa')).toHaveLength(1);
  });

  test('with no-track is redirected and recorded nowhere', async () => {
    const variants = [
      { url: 'https://acme.com/a', percentage: 50 },
      { url: 'https://acme.com/b', percentage: 50 },
    ];
    const testCompletedAt = new Date(Date.now() + 86_400_000).toISOString();
    const tested = await ingest.link({ trackConversion: true, testVariants: variants, testCompletedAt });
    const app = await ingest.link({ trackConversion: true, ios: 'https://apps.apple.com/app/id1' });
    await set('no-track');
    const answer = await ingest.visit(`/${tested.key}`, { ...VISITOR, ...GPC });
    expect(answer.headers.location).toMatch(/^https:\/\/acme\.com\/[ab]$/);
    expect(cookiesOf(answer)).toEqual([]);
    const iphone =
      'Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.0 Mobile/15E148 Safari/604.1';
    expect((await ingest.visit(`/${app.key}`, { ...VISITOR, ...DNT, 'user-agent': iphone })).headers.location).toBe(
      'https://apps.apple.com/app/id1',
    );
    expect(await ingest.redisClient.keys('waymark:app-open:*')).toEqual([]);
    expect(await ingest.redisClient.keys(`{waymark}:claim:c:${app.id}:*`)).toEqual([]);
    // A later click is stored, so an earlier one would be.
    await ingest.visit(`/${tested.key}`, VISITOR);
    expect(await clicksWhen(1, tested)).toMatchObject([{ city: 'Marfa' }]);
    expect(await clicksOf(app)).toEqual([]);
  });

  test('of a robot is what it was: redirected, and no click', async () => {
    const link = await ingest.link({ trackConversion: true, proxy: true, title: 'A title', url: 'https://acme.com' });
    const robot = { ...VISITOR, 'user-agent': 'Twitterbot/1.0' };
    const pages: string[] = [];
    for (const signal of ['ignore', 'no-id', 'no-track'] as const) {
      await set(signal);
      const { body, statusCode } = await ingest.visit(`/${link.key}`, { ...robot, ...GPC });
      expect(statusCode).toBe(200);
      pages.push(body);
    }
    expect(new Set(pages).size).toBe(1);
    await ingest.visit(`/${link.key}`, VISITOR);
    expect(await clicksWhen(1, link)).toMatchObject([{ browser: 'Chrome' }]);
  });

  test('is decided without a call of a store, by what another process has just set', async () => {
    const link = await ingest.link({ trackConversion: true });
    await set('no-track');
    const visit = () => ingest.visit(`/${link.key}`, { ...VISITOR, ...GPC });
    // Whatever admits a visit from the cache of the process also has the setting for the signal from there.
    const { admission } = ingest.deps;
    const read = async () => {
      await visit();
      return admission.decideFromCache(link) && { signal: admission.privacySignal(link) };
    };
    expect(await waitFor(read, { what: 'the workspace in the cache' })).toEqual({ signal: 'no-track' });

    const other = createCatalog({
      ...{ redis: ingest.redisClient, clickhouse: ingest.clickhouse, instanceKey: Buffer.alloc(32, 7), now: Date.now },
      ...{ logger: { warn() {} }, baseUrl: 'http://api.test' },
    });
    try {
      await other.workspaces.update(ingest.workspaceId, { privacySignal: 'ignore' });
      expect((await visit()).headers.location).toContain('dub_id=');
      await other.workspaces.update(ingest.workspaceId, { privacySignal: 'no-track' });
      expect((await visit()).headers.location).not.toContain('dub_id=');
    } finally {
      await other.close();
    }
  });
});

describe.each(['linkApp', 'trackApp'] as const)('reports with Sec-GPC or DNT on the %s', (port) => {
  test('no-id answers no click id, and records a click without what identifies', async () => {
    const link = await ingest.link({ trackConversion: true, url: 'https://acme.com/shop?a=1&dub_id=old#top' });
    await set('no-id');
    const page = 'https://acme.com/landing?email=ada@example.com';
    const click = await report('/track/click', { domain: DOMAIN, key: link.key, url: page }, GPC, port);
    expect([click.statusCode, click.json()]).toEqual([200, { clickId: '' }]);
    const visited = { domain: DOMAIN, url: `https://${DOMAIN}/${link.key}?email=ada@example.com` };
    expect((await report('/track/visit', visited, DNT, port)).json()).toEqual({ clickId: '' });
    const opened = await report('/track/open', { deepLink: `https://${DOMAIN}/${link.key}` }, GPC, port);
    expect(opened.json()).toMatchObject({ clickId: null, link: { id: link.id } });
    await report('/track/click', { domain: DOMAIN, key: link.key }, GPC, port);
    const clicks = await clicksWhen(4, link);
    // The parameters of the link stay, those of a page may be the visitor's.
    expect(clicks.map(({ trigger, url }) => `${trigger} ${url}`).sort()).toEqual([
      'deeplink https://acme.com/shop?a=1#top',
      'link https://acme.com/landing',
      'link https://acme.com/shop?a=1#top',
      `pageview https://${DOMAIN}/${link.key}`,
    ]);
    for (const row of clicks) {
      expect(row).toMatchObject(UNIDENTIFIED);
      for (const text of identifying) expect(textOf(row)).not.toContain(text);
    }
  });

  test('no-track returns no click id and records nothing; the first start of an app gets no click', async () => {
    await set('ignore');
    const link = await ingest.link({ ios: 'https://apps.apple.com/app/id1' });
    const iphone = {
      'user-agent': 'Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) Version/17.0 Mobile Safari/604.1',
    };
    const address = { 'x-forwarded-for': port === 'linkApp' ? '192.0.2.1' : '192.0.2.2' };
    await ingest.visit(`/${link.key}`, { ...VISITOR, ...iphone, ...address });
    const first = (headers: object) => report('/track/open', { dubDomain: DOMAIN }, { ...address, ...headers }, port);
    expect((await first({})).json()).toMatchObject({ link: { id: link.id } });
    await set('no-track');
    expect((await first(GPC)).json()).toEqual({ clickId: null, link: null });
    const body = { domain: DOMAIN, key: link.key };
    expect((await report('/track/click', body, DNT, port)).json()).toEqual({ clickId: '' });
    expect((await report('/track/click', body, {}, port)).json()).toEqual({
      clickId: expect.stringMatching(/^\w{16}$/),
    });
    expect(await clicksWhen(2, link)).toHaveLength(2);
  });
});
