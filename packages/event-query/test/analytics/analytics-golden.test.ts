import { ANALYTICS_EVENTS, GROUPINGS, type Grouping } from '@waymark/contract';
import { createTestDatabase, type TestDatabase } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AnalyticsStats, type BindScope, countOf } from '../../src/index.js';
import { readable } from '../readable.js';
import { SMALL_WORLD } from '../small-world.js';
import { customerId, linkId, NOW, partnerId, programId, store, tagId, workspaceId } from '../world.js';
import { storeEntities } from './entities.js';
import { groupsIn } from './oracle.js';
import { groupsOf } from './run-analytics.js';

// The statements are kept in golden/. `npx vitest run packages/event-query -u` rewrites them; review the diff.

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  // Another workspace with the same links and events: none of it may ever be seen.
  for (const workspace of [SMALL_WORLD.workspace, SMALL_WORLD.workspace + 1]) {
    await store(database, { ...SMALL_WORLD, workspace });
    await storeEntities(database, { ...SMALL_WORLD, workspace });
  }
});
afterAll(() => database.drop());

const SCOPE: BindScope = { workspaceId: workspaceId(SMALL_WORLD.workspace), programId: programId(1) };
const DAY_MS = 24 * 3_600_000;

type Facts = AnalyticsStats & { readonly sinceMs?: number };

/** The statements of a request, as they are kept. */
async function answerTo(query: Record<string, string>, facts: Facts = {}, scope: Partial<BindScope> = {}) {
  const { request, groups, statements } = await groupsOf(database, query, { ...SCOPE, ...scope }, facts);
  const lines = statements.map((statement) => readable(statement, 'depth'));
  return { request, groups, golden: [`-- GET /analytics?${new URLSearchParams(query)}`, ...lines].join('\n\n') };
}

/** Groupings by one column of the event, with the column: their statements differ in these two names only. */
const COLUMN_OF: Partial<Record<Grouping, string>> = {
  countries: 'country',
  devices: 'device',
  browsers: 'browser',
  os: 'os',
  referers: 'referer',
  referer_urls: 'referer_url',
  top_urls: 'url',
  top_base_urls: 'url_base',
  utm_sources: 'utm_source',
  utm_mediums: 'utm_medium',
  utm_campaigns: 'utm_campaign',
  utm_terms: 'utm_term',
  utm_contents: 'utm_content',
};

/** The statements of a grouping by one column, with `<grouping>` and `<column>` in the place of the two names. */
function withoutNames(golden: string, grouping: Grouping, column: string): string {
  return golden
    .replace(new RegExp(`(groupBy=|log_comment = analytics \\w+ )${grouping}$`, 'gm'), '$1<grouping>')
    .replace(new RegExp(`\\b${column}\\b`, 'g'), '<column>');
}

const DAY_WISH = {
  event: 'clicks',
  range: { type: 'interval', interval: '24h', zone: 'UTC' },
  lists: {},
  root: undefined,
  saleType: undefined,
  metadata: undefined,
  program: undefined,
  customer: undefined,
  order: 'desc',
  page: 1,
  limit: 100,
} as const;

describe('every grouping, of each event type', () => {
  test.each(GROUPINGS.filter((grouping) => grouping !== 'timeseries'))('%s', async (grouping) => {
    const goldens: string[] = [];
    for (const event of ANALYTICS_EVENTS) {
      const { groups, golden } = await answerTo({ event, groupBy: grouping });
      const wish = { event, grouping, filters: DAY_WISH };
      expect(groups.map(({ key, numbers }) => ({ key, numbers }))).toEqual(
        groupsIn(SMALL_WORLD, wish).map(({ key, numbers }) => ({ key: key.map(String), numbers })),
      );
      goldens.push(golden);
    }
    const golden = goldens.join('\n\n');
    const column = COLUMN_OF[grouping];
    if (column === undefined) await expect(`${golden}\n`).toMatchFileSnapshot(`golden/${grouping}.sql`);
    else await expect(`${withoutNames(golden, grouping, column)}\n`).toMatchFileSnapshot('golden/by-one-column.sql');
  });

  test('timeseries', async () => {
    const goldens: string[] = [];
    for (const event of ANALYTICS_EVENTS) {
      const { groups, golden } = await answerTo({ event, groupBy: 'timeseries', timezone: 'Asia/Kathmandu' });
      const total = (measure: 'clicks' | 'leads' | 'sales') =>
        groups.reduce((sum, { numbers }) => sum + numbers[measure], 0);
      const counted = [total('clicks'), total('leads'), total('sales')];
      expect(counted).toEqual({ clicks: [7, 0, 0], leads: [0, 3, 0], sales: [0, 0, 2], composite: [7, 3, 2] }[event]);
      goldens.push(golden);
    }
    await expect(`${goldens.join('\n\n')}\n`).toMatchFileSnapshot('golden/timeseries.sql');
  });
});

interface Case {
  readonly query: Record<string, string>;
  readonly facts?: Facts;
  readonly scope?: Partial<BindScope>;
  /** Clicks, leads, sales and cents of all groups together. */
  readonly totals: readonly [number, number, number, number];
}

const CASES: Record<string, Case> = {
  'count without removed links': { query: {}, facts: { hasRemovedLinks: false }, totals: [8, 0, 0, 0] },
  'count among few events, some of removed links': {
    query: {},
    facts: { hasRemovedLinks: true },
    totals: [7, 0, 0, 0],
  },
  'count among many events, some of removed links': {
    query: {},
    facts: { hasRemovedLinks: true, rangeEventsMax: 1e9 },
    totals: [7, 0, 0, 0],
  },
  'count without a few removed links': {
    query: {},
    facts: { hasRemovedLinks: true, removedLinks: [6n] },
    totals: [7, 0, 0, 0],
  },
  'count of a quarter of an hour': {
    query: { start: '2026-11-21T14:15:00Z', end: '2026-11-21T14:29:59.999Z' },
    facts: { hasRemovedLinks: false },
    totals: [8, 0, 0, 0],
  },
  'count of less than a quarter of an hour': {
    query: { start: '2026-11-21T14:26:00Z', end: '2026-11-21T14:28:00Z' },
    totals: [2, 0, 0, 0],
  },
  'count of two days in a workspace with few events': {
    query: { start: '2026-11-20T14:26:00Z', end: '2026-11-22T14:28:00Z', event: 'composite' },
    facts: { hasRemovedLinks: false, kindEvents: 150_000 },
    totals: [8, 3, 2, 5800],
  },
  'a time series of a day in a workspace with many events': {
    query: { groupBy: 'timeseries' },
    facts: { hasRemovedLinks: false, kindEvents: 28_000_000 },
    totals: [8, 0, 0, 0],
  },
  'a time series of a day in a workspace with not so many events': {
    query: { groupBy: 'timeseries' },
    facts: { hasRemovedLinks: false, kindEvents: 26_000_000 },
    totals: [8, 0, 0, 0],
  },
  'count since ever': { query: { interval: 'all', event: 'composite' }, totals: [8, 3, 2, 5800] },
  'count of a link since ever': { query: { interval: 'all', linkId: linkId(2) }, totals: [2, 0, 0, 0] },
  'count by an attribute of links since ever': {
    query: { interval: 'all', event: 'composite', tagId: tagId(2) },
    totals: [5, 2, 2, 5800],
  },
  'links since ever': { query: { interval: 'all', event: 'composite', groupBy: 'top_links' }, totals: [8, 3, 2, 5800] },
  'folders since ever': { query: { interval: 'all', groupBy: 'top_folders' }, totals: [3, 0, 0, 0] },
  'since ever, but not of every event': {
    query: { interval: 'all', groupBy: 'top_links', country: 'FR' },
    totals: [4, 0, 0, 0],
  },
  'a time series of days since the workspace was made': {
    query: { interval: 'all', groupBy: 'timeseries', timezone: 'Europe/Berlin' },
    facts: { hasRemovedLinks: false, sinceMs: NOW - 10 * DAY_MS },
    totals: [9, 0, 0, 0],
  },
  'a time series with filters': {
    query: { interval: '7d', groupBy: 'timeseries', event: 'composite', country: 'FR', domain: 'go.acme.com' },
    totals: [3, 1, 1, 2900],
  },
  'each kind has the filters that apply to it': {
    query: { event: 'composite', groupBy: 'countries', eventName: 'Demo booked', saleType: 'new', trigger: 'link,qr' },
    totals: [6, 2, 0, 0],
  },
  'clicks, leads and sales of a customer': {
    query: { event: 'composite', groupBy: 'devices', customerId: customerId(2) },
    totals: [1, 1, 1, 2900],
  },
  'a listed link': { query: { groupBy: 'countries', linkId: linkId(1) }, totals: [3, 0, 0, 0] },
  'the links of a partner, among many events': {
    query: { groupBy: 'browsers', partnerId: partnerId(1) },
    facts: { rangeEventsMax: 1_000_000 },
    totals: [3, 0, 0, 0],
  },
  'no link of an unknown tenant, among many events': {
    query: { groupBy: 'browsers', tenantId: 'none' },
    facts: { rangeEventsMax: 1_000_000 },
    totals: [0, 0, 0, 0],
  },
  'domains of links with a tag': { query: { groupBy: 'top_domains', tagId: tagId(2) }, totals: [4, 0, 0, 0] },
  'nothing can match': { query: { event: 'composite', linkId: 'link_none' }, totals: [0, 0, 0, 0] },
};

test.each(Object.entries(CASES))('%s: the statement is the reviewed one and counts so much', async (name, wanted) => {
  const { groups, golden } = await answerTo(wanted.query, wanted.facts, wanted.scope);
  const totals = groups.reduce(
    (sum, { numbers: { clicks, leads, sales, saleAmount } }) =>
      [clicks, leads, sales, saleAmount].map((number, index) => number + sum[index]!),
    [0, 0, 0, 0],
  );
  await expect(`${golden}\n`).toMatchFileSnapshot(`golden/${name.replace(/[^a-z0-9]+/gi, '-')}.sql`);
  expect(totals).toEqual(wanted.totals);
  if (groups.length === 0) expect(countOf(groups)).toEqual({ clicks: 0, leads: 0, sales: 0, saleAmount: 0 });
});
