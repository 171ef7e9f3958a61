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

describe('groupings by columns of the event', () => {
  const desktop = { device: 'Desktop', ...clicked(4) };
  test.each<[string, object[]]>([
    [
      'continents',
      [
        { continent: 'NA', ...clicked(2) },
        { continent: 'AS', ...clicked(1) },
        { continent: 'EU', ...clicked(1) },
      ],
    ],
    [
      'countries',
      [
        { country: 'US', region: '*', city: '*', ...clicked(2) },
        { country: 'FR', region: '*', city: '*', ...clicked(1) },
        { country: 'SG', region: '*', city: '*', ...clicked(1) },
      ],
    ],
    [
      'regions',
      [
        { country: 'FR', region: 'FR-ARA', city: '*', ...clicked(1) },
        { country: 'US', region: 'US-CA', city: '*', ...clicked(1) },
        { country: 'US', region: 'US-NY', city: '*', ...clicked(1) },
      ],
    ],
    [
      'cities',
      [
        { country: 'FR', region: 'FR-ARA', city: 'Lyon', ...clicked(1) },
        { country: 'SG', region: 'Unknown', city: 'Singapore', ...clicked(1) },
        { country: 'US', region: 'US-CA', city: 'Los Angeles', ...clicked(1) },
        { country: 'US', region: 'US-NY', city: 'New York', ...clicked(1) },
      ],
    ],
    ['devices', [desktop, { device: 'Mobile', ...clicked(1) }]],
    [
      'browsers',
      [
        { browser: 'Firefox', ...clicked(4) },
        { browser: 'Chrome', ...clicked(1) },
      ],
    ],
    [
      'os',
      [
        { os: 'Windows', ...clicked(4) },
        { os: 'iOS', ...clicked(1) },
      ],
    ],
    [
      'triggers',
      [
        { trigger: 'link', ...clicked(3) },
        { trigger: 'deeplink', ...clicked(1) },
        { trigger: 'qr', ...clicked(1) },
      ],
    ],
    [
      'referers',
      [
        { referer: '(direct)', ...clicked(4) },
        { referer: 't.co', ...clicked(1) },
      ],
    ],
    [
      'referer_urls',
      [
        { refererUrl: '(direct)', ...clicked(4) },
        { refererUrl: 'https://t.co/x', ...clicked(1) },
      ],
    ],
    [
      'top_urls',
      [
        { url: 'https://acme.com/try', ...clicked(4) },
        {
          url: 'https://acme.com/p?utm_source=news+letter&utm_medium=e-mail&utm_campaign=x&utm_term=a&utm_content=b',
          ...clicked(1),
        },
      ],
    ],
    [
      'top_base_urls',
      [
        { url: 'https://acme.com/try', ...clicked(4) },
        { url: 'https://acme.com/p', ...clicked(1) },
      ],
    ],
    ['utm_sources', [{ utm_source: 'news letter', ...clicked(1) }]],
    ['utm_mediums', [{ utm_medium: 'e-mail', ...clicked(1) }]],
    ['utm_campaigns', [{ utm_campaign: 'x', ...clicked(1) }]],
    ['utm_terms', [{ utm_term: 'a', ...clicked(1) }]],
    ['utm_contents', [{ utm_content: 'b', ...clicked(1) }]],
  ])('%s: largest groups first, ties by value, without unknown values', async (groupBy, expected) => {
    expect(await rows({ groupBy })).toEqual(expected);
  });

  test('trigger is another name of triggers', async () => {
    expect(await rows({ groupBy: 'trigger' })).toEqual(await rows({ groupBy: 'triggers' }));
  });

  test('leads and sales count in the group of their click', async () => {
    expect(await rows({ event: 'leads', groupBy: 'countries' })).toEqual([
      { country: 'BR', region: '*', city: '*', ...zeros, leads: 1 },
      { country: 'FR', region: '*', city: '*', ...zeros, leads: 1 },
    ]);
    expect(await rows({ event: 'sales', groupBy: 'os' })).toEqual([
      { os: 'iOS', ...zeros, sales: 2, saleAmount: 2900 },
    ]);
  });

  test('composite has the groups of all event kinds, including those without clicks', async () => {
    expect(await rows({ event: 'composite', groupBy: 'countries' })).toEqual([
      { country: 'US', region: '*', city: '*', clicks: 2, leads: 0, sales: 2, saleAmount: 2900 },
      { country: 'FR', region: '*', city: '*', ...zeros, clicks: 1, leads: 1 },
      { country: 'SG', region: '*', city: '*', ...zeros, clicks: 1 },
      { country: 'BR', region: '*', city: '*', ...zeros, leads: 1 },
    ]);
  });

  test('sales are ordered by their amount', async () => {
    const other = await aWorkspace(query);
    const [a, b] = [await other.aLink({ key: 'a' }), await other.aLink({ key: 'b' })];
    const customer = await other.aCustomer({ externalId: 'ada' });
    const [many, big] = [other.click(a, 9, { country: 'FR' }), other.click(b, 9, { country: 'US' })];
    await other.store({
      clicks: [many],
      sales: [
        other.sale(many, customer, 3, { amount: 1 }),
        other.sale(many, customer, 2, { amount: 1 }),
        other.sale(big, customer, 1, { amount: 100 }),
      ],
    });
    const countries = (await other.analytics({ event: 'sales', groupBy: 'countries' })).body;
    expect(countries).toMatchObject([{ country: 'US' }, { country: 'FR', sales: 2 }]);
    const composite = (await other.analytics({ event: 'composite', groupBy: 'countries' })).body;
    expect(composite).toMatchObject([
      { country: 'FR', clicks: 1 },
      { country: 'US', clicks: 0 },
    ]);
  });

  test('only the largest 5000 groups are returned', async () => {
    const other = await aWorkspace(query);
    const target = await other.aLink({ key: 'a' });
    const clicks = Array.from({ length: 5002 }, (_, index) => other.click(target, 1, { city: `City ${index}` }));
    await other.store({
      clicks: [...clicks, other.click(target, 1, { city: 'Zz' }), other.click(target, 1, { city: 'Zz' })],
    });
    const { body } = await other.analytics({ groupBy: 'cities' });
    expect(body).toHaveLength(5000);
    expect(body).toMatchObject({ 0: { city: 'Zz', clicks: 2 }, 1: { city: 'City 0' } });
  });
});
