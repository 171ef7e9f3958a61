import { randomUUID } from 'node:crypto';
import { EVENT_TABLES, type EventRow } from '@waymark/event-format';
import {
  aClick,
  aLead,
  aSale,
  createTestDatabase,
  insertClicks,
  insertLeads,
  insertSales,
  type TestDatabase,
} from '@waymark/test-kit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { insertRows } from '../../src/index.js';

let db: TestDatabase;
const start = Date.UTC(2025, 11, 31, 20);
const MINUTES_7 = 7 * 60_000;

function pick<T>(values: readonly T[], index: number): T {
  return values[index % values.length] as T;
}

/** 300 events of each kind over a turn of the year: several links, customers, days, slots and two workspaces. */
const indexes = Array.from({ length: 300 }, (_, index) => index);
const clicks = indexes.map((index) =>
  aClick({
    workspaceId: pick(['1', '2'], index),
    linkId: pick(['10', '11', '12'], index),
    timestampMs: start + index * MINUTES_7,
  }),
);
const leads = indexes.map((index) =>
  aLead({
    click: clicks[index] as EventRow,
    customerId: pick(['20', '21', '22', '23', '24'], index),
    timestampMs: start + index * MINUTES_7 + 1,
  }),
);
const sales = indexes.map((index) =>
  aSale({
    click: clicks[index] as EventRow,
    customerId: pick(['20', '21', '22', '23', '24'], index),
    timestampMs: start + index * MINUTES_7 + 2,
    amount: index - 20,
    saleType: pick(['new', 'recurring', 'recurring'] as const, index),
  }),
);

beforeAll(async () => {
  db = await createTestDatabase();
  // Several inserts, so that the roll-ups have unmerged parts.
  for (let from = 0; from < 300; from += 100) {
    await insertClicks(db.client, clicks.slice(from, from + 100));
    await insertLeads(db.client, leads.slice(from, from + 100));
    await insertSales(db.client, sales.slice(from, from + 100));
  }
});
afterAll(() => db.drop());

async function rows(query: string): Promise<unknown[]> {
  return (await db.client.query({ query, format: 'JSONEachRow' })).json();
}

const EVENTS = `(
  SELECT workspace_id, link_id, 0 AS customer_id, timestamp, 1 AS click, 0 AS lead, 0 AS sale, 0 AS amount, '' AS sale_type FROM click_events
  UNION ALL SELECT workspace_id, link_id, customer_id, timestamp, 0, 1, 0, 0, '' FROM lead_events
  UNION ALL SELECT workspace_id, link_id, customer_id, timestamp, 0, 0, 1, amount, sale_type FROM sale_events
)`;
const SUMS = 'sum(click) AS clicks, sum(lead) AS leads, sum(sale) AS sales, sum(amount) AS sale_amount';
const ROLLED = 'sum(clicks) AS clicks, sum(leads) AS leads, sum(sales) AS sales, sum(sale_amount) AS sale_amount';

test('link_totals read with sum and max equals the events', async () => {
  const key = 'workspace_id, link_id';
  const rolled = await rows(
    `SELECT ${key}, ${ROLLED}, sum(conversions) AS conversions, max(last_clicked) AS last FROM link_totals GROUP BY ${key} ORDER BY ${key}`,
  );
  expect(rolled).toHaveLength(6);
  expect(rolled).toEqual(
    await rows(
      `SELECT ${key}, ${SUMS}, countIf(sale_type = 'new') AS conversions, maxIf(timestamp, click = 1) AS last FROM ${EVENTS} GROUP BY ${key} ORDER BY ${key}`,
    ),
  );
});

test('customer_totals read with sum and min equals the events', async () => {
  const key = 'workspace_id, customer_id';
  const rolled = await rows(
    `SELECT ${key}, sum(leads) AS leads, sum(sales) AS sales, sum(sale_amount) AS amount, min(first_sale_at) AS first FROM customer_totals GROUP BY ${key} ORDER BY ${key}`,
  );
  expect(rolled).toHaveLength(10);
  expect(rolled).toEqual(
    await rows(
      `SELECT ${key}, sum(lead) AS leads, sum(sale) AS sales, sum(amount) AS amount, minOrNullIf(timestamp, sale = 1) AS first FROM ${EVENTS} WHERE customer_id != 0 GROUP BY ${key} ORDER BY ${key}`,
    ),
  );
});

test('a customer without a sale has no first sale', async () => {
  await insertLeads(db.client, [aLead({ customerId: '99', click: aClick({ workspaceId: '3' }) })]);
  expect(await rows('SELECT min(first_sale_at) AS first FROM customer_totals WHERE workspace_id = 3')).toEqual([
    { first: null },
  ]);
});

test('workspace_slots and link_days read with sum equal the events of their quarter hours and days', async () => {
  for (const [table, key, of] of [
    ['workspace_slots', 'slot', 'toStartOfFifteenMinutes(timestamp)'],
    ['link_days', 'link_id, day', "link_id, toDate(timestamp, 'UTC') AS day"],
  ] as const) {
    const group = `workspace_id, ${key}`;
    const source = of.includes(' AS ') ? of : `${of} AS ${key}`;
    const rolled = await rows(
      `SELECT ${group}, ${ROLLED} FROM ${table} WHERE workspace_id < 3 GROUP BY ${group} ORDER BY ${group}`,
    );
    expect(rolled.length).toBeGreaterThan(5);
    expect(rolled).toEqual(
      await rows(
        `SELECT workspace_id, ${source}, ${SUMS} FROM ${EVENTS} WHERE workspace_id < 3 GROUP BY ${group} ORDER BY ${group}`,
      ),
    );
  }
});

test('reads of one link use the projection, which has the configured granularity', async () => {
  const plan = await rows(
    'EXPLAIN projections = 1 SELECT click_id FROM click_events WHERE workspace_id = 1 AND link_id = 10 SETTINGS optimize_use_projections = 1, min_table_rows_to_use_projection_index = 0',
  );
  const text = plan.map((line) => (line as { explain: string }).explain).join('\n');
  expect(text).toContain('by_link');
  const [definition] = await rows(
    "SELECT create_table_query AS sql FROM system.tables WHERE database = currentDatabase() AND name = 'click_events'",
  );
  expect((definition as { sql: string }).sql).toMatch(
    /PROJECTION by_link \([\s\S]*?\) WITH SETTINGS \(index_granularity = 256\)/,
  );
});

test('a click is found by its id through the time inside it, reading one granule', async () => {
  const [click] = clicks.slice(77);
  const result = await db.client.query({
    query: `SELECT link_id FROM click_events WHERE workspace_id = {w:UInt64} AND timestamp = fromUnixTimestamp64Milli({t:Int64}) AND click_id = {id:String}`,
    query_params: { w: click?.[0], t: click?.[1], id: click?.[2] },
    format: 'JSONEachRow',
  });
  expect(await result.json()).toEqual([{ link_id: click?.[3] }]);
});

test('values wrap silently when they overflow, so rows must be checked before they are queued', async () => {
  const { table, columns } = EVENT_TABLES.sale;
  const huge = aSale({ click: aClick({ workspaceId: '4' }) }).with(columns[1].indexOf('amount'), '9223372036854775808');
  await insertRows(db.client, { table, columns: columns[1], rows: [huge], deduplicationToken: randomUUID() });
  expect(await rows('SELECT amount FROM sale_events WHERE workspace_id = 4')).toEqual([
    { amount: '-9223372036854775808' },
  ]);
});
