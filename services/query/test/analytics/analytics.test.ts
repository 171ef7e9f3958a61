import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { aWorkspace, startQuery, type TestQuery } from '../test-query.js';
import { type AnalyticsWorld, anAnalyticsWorld, clicked, zeros } from './analytics-world.js';

let query: TestQuery;
let world: AnalyticsWorld;
const rows = (parameters: Record<string, string>) => world.rows(parameters);

beforeAll(async () => {
  query = await startQuery();
  world = await anAnalyticsWorld(query);
});
afterAll(() => query.close());

describe('the numbers of an event type', () => {
  test.each([
    ['clicks', clicked(5)],
    ['leads', { ...zeros, leads: 2 }],
    ['sales', { ...zeros, sales: 2, saleAmount: 2900 }],
    ['composite', { clicks: 5, leads: 2, sales: 2, saleAmount: 2900 }],
  ])('%s: the others are 0', async (event, expected) => {
    expect(await rows({ event })).toEqual(expected);
  });

  test('clicks are counted by default, and numbers are JSON numbers', async () => {
    expect(await rows({})).toEqual(clicked(5));
    expect(await rows({ event: 'clicks', groupBy: 'count' })).toEqual(clicked(5));
  });

  test('sums are exact below 2^53', async () => {
    const other = await aWorkspace(query);
    const click = other.click(await other.aLink({ key: 'a' }), 3);
    const customer = await other.aCustomer({ externalId: 'rich' });
    const amounts = [2 ** 52, 2 ** 52 - 1];
    await other.store({ sales: amounts.map((amount) => other.sale(click, customer, 2, { amount })) });
    const expected = { ...zeros, sales: 2, saleAmount: Number.MAX_SAFE_INTEGER };
    expect((await other.analytics({ event: 'sales' })).body).toEqual(expected);
    expect((await other.analytics({ event: 'sales', groupBy: 'devices' })).body).toEqual([
      { device: 'Desktop', ...expected },
    ]);
  });

  test('without events, counts are 0 and lists are empty', async () => {
    const other = await aWorkspace(query);
    for (const event of ['clicks', 'leads', 'sales', 'composite']) {
      expect((await other.analytics({ event })).body).toEqual(zeros);
      expect((await other.analytics({ event, interval: 'all' })).body).toEqual(zeros);
      expect((await other.analytics({ event, groupBy: 'countries' })).body).toEqual([]);
      expect((await other.analytics({ event, groupBy: 'top_links', linkId: 'link_none' })).body).toEqual([]);
      expect((await other.analytics({ event, linkId: 'link_none' })).body).toEqual(zeros);
    }
  });
});

describe('filters work as in GET /events', () => {
  test('on events and links', async () => {
    expect(await rows({ country: 'US' })).toEqual(clicked(2));
    expect(await rows({ country: '-US', interval: 'all' })).toEqual(clicked(4));
    expect(await rows({ trigger: 'qr,deeplink', event: 'composite' })).toEqual({
      ...clicked(2),
      sales: 2,
      saleAmount: 2900,
    });
    expect(await rows({ domain: world.workspace.host, key: 'TRY' })).toEqual(clicked(5));
    expect(await rows({ domain: `-${world.workspace.host}` })).toEqual(zeros);
    expect(await rows({ linkId: world.link.id, interval: 'all' })).toEqual(clicked(6));
    expect(await rows({ groupBy: 'countries', linkId: world.link.id, city: 'Lyon' })).toHaveLength(1);
    expect(await rows({ qr: 'true' })).toEqual(clicked(1));
    expect(await rows({ customerId: 'ext_ada', event: 'composite' })).toEqual({
      clicks: 1,
      leads: 2,
      sales: 2,
      saleAmount: 2900,
    });
  });

  test.each(['linkId', 'tagId', 'tagIds', 'partnerId', 'partnerTagId', 'groupId'])(
    'a %s of another form matches nothing, and excluded leaves everything',
    async (name) => {
      expect(await rows({ [name]: 'nope', event: 'composite' })).toEqual(zeros);
      expect(await rows({ [name]: 'nope', groupBy: 'countries' })).toEqual([]);
      expect(await rows({ [name]: '-nope' })).toEqual(clicked(5));
      expect(await rows({ customerId: 'nope' })).toEqual(zeros);
    },
  );

  test('saleType is applied to sales only', async () => {
    expect(await rows({ event: 'composite', saleType: 'new' })).toEqual({
      clicks: 5,
      leads: 2,
      sales: 1,
      saleAmount: 2900,
    });
    expect(await rows({ event: 'sales', saleType: 'recurring' })).toEqual({ ...zeros, sales: 1 });
  });

  test('eventName is applied to leads and sales only', async () => {
    expect(await rows({ event: 'composite', eventName: 'Sign up' })).toEqual({ ...clicked(5), leads: 2 });
  });

  test('query is applied to leads and sales only, in every grouping', async () => {
    const other = await aWorkspace(query);
    const click = other.click(await other.aLink({ key: 'a' }), 9);
    const customer = await other.aCustomer({ externalId: 'ada' });
    await other.store({
      clicks: [click],
      leads: ['pro', 'free'].map((plan) => other.lead(click, customer, 5, { metadata: { plan } })),
      sales: [1, 2, 3].map((seats) => other.sale(click, customer, 4, { amount: 100 * seats, metadata: { seats } })),
    });
    const isPro = "metadata['plan']:'pro'";
    const numbers = { clicks: 1, leads: 1, sales: 2, saleAmount: 500 };
    const either = `${isPro} OR metadata['seats'] > 1`;
    expect((await other.analytics({ event: 'composite', query: either })).body).toEqual(numbers);
    expect((await other.analytics({ event: 'composite', query: either, interval: 'all' })).body).toEqual(numbers);
    for (const groupBy of ['countries', 'top_links', 'top_domains', 'top_urls']) {
      expect((await other.analytics({ event: 'composite', query: either, groupBy })).body, groupBy).toMatchObject([
        numbers,
      ]);
    }
    const series = (await other.analytics({ event: 'composite', query: either, groupBy: 'timeseries' })).body;
    expect((series as object[]).at(-1)).toMatchObject(numbers);
    expect((await other.analytics({ event: 'clicks', query: isPro })).body).toEqual(clicked(1));
    expect((await other.analytics({ event: 'leads', query: isPro })).body).toEqual({ ...zeros, leads: 1 });
    expect((await other.analytics({ event: 'leads', query: 'metadata[' })).status).toBe(422);
  });

  test('time ranges', async () => {
    expect(await rows({ start: '2026-11-20' })).toEqual(clicked(6));
    expect(await rows({ start: '2026-11-20', end: '2026-11-20' })).toEqual(clicked(1));
    expect(await rows({ start: '2026-11-21T14:26:00Z', end: '2026-11-21T14:28:00Z' })).toEqual(clicked(2));
    expect(await rows({ interval: 'all' })).toEqual(clicked(6));
  });
});

test.each([
  ['none', false],
  ['one', true],
])(
  'whatever the range, as many events are counted as GET /events lists; links removed: %s',
  async (_name, hasRemoved) => {
    const other = await aWorkspace(query);
    const [kept, removed] = [await other.aLink({ key: 'kept' }), await other.aLink({ key: 'removed' })];
    const minutes = [0, 1, 14, 15, 16, 30, 60, 59 * 24, 60 * 24, 60 * 24 + 1, 90 * 24 * 60, 400 * 24 * 60];
    const clicks = minutes.flatMap((ago) => [other.click(kept, ago), other.click(removed, ago)]);
    const customer = await other.aCustomer({ externalId: 'ada' });
    await other.store({
      clicks,
      leads: clicks.map((click, index) => other.lead(click, customer, minutes[index >> 1]!)),
    });
    const ranges: Record<string, string>[] = [
      ...['24h', '7d', '90d', '1y', 'mtd', 'ytd', 'all'].map((interval) => ({ interval })),
      { start: '2026-11-21T14:00:00.250Z', end: '2026-11-21T14:30:00.250Z' },
      { start: '2026-11-21T14:15:00Z', end: '2026-11-21T14:29:59.999Z' },
      { start: '2026-11-21', timezone: 'Asia/Kathmandu' },
    ];
    expect((await other.analytics({ interval: 'all' })).body).toEqual({ ...zeros, clicks: clicks.length });
    if (hasRemoved) await other.remove(removed);
    for (const range of ranges) {
      for (const event of ['clicks', 'leads'] as const) {
        const listed = (await other.events({ ...range, event, limit: '1000' })).body.length;
        const at = JSON.stringify({ ...range, event });
        expect((await other.analytics({ ...range, event })).body, at).toEqual({ ...zeros, [event]: listed });
        const links = (await other.analytics({ ...range, event, groupBy: 'top_links' })).body as { clicks: number }[];
        expect(
          links.reduce((sum, row) => sum + (row as never)[event], 0),
          at,
        ).toBe(listed);
        const series = (await other.analytics({ ...range, event, groupBy: 'timeseries' })).body as object[];
        if (range.interval !== 'all') {
          expect(
            series.reduce((sum, row) => sum + (row as never)[event], 0),
            at,
          ).toBe(listed);
        }
      }
    }
  },
);
