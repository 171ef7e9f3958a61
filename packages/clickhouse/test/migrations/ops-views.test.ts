import { readFileSync } from 'node:fs';
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
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { applyQueryLogView, DURATION_BOUNDS_MS, insertRows, OPS_TABLES, type OpsTable } from '../../src/index.js';
import { renderMigration } from '../../src/migrations/render.js';
import { splitStatements } from '../../src/migrations/split-statements.js';
import { QUERY_LOG_VIEW } from '../../src/query-log-view.js';

let db: TestDatabase;
const minuteMs = Math.floor((Date.now() - 3_600_000) / 60_000) * 60_000;
const minuteSeconds = minuteMs / 1000;
const MINUTE = `${new Date(minuteMs).toISOString().slice(0, -5)}Z`;
const DAY = MINUTE.slice(0, 10);

async function rows<Row>(query: string): Promise<Row[]> {
  return (await db.client.query({ query, format: 'JSONEachRow' })).json<Row>();
}

type Value = string | number | readonly number[];
const put = (table: OpsTable, values: readonly (readonly Value[])[]) =>
  insertRows(db.client, { table, columns: OPS_TABLES[table], rows: values as never });

/** A histogram of durations, as in `ops_requests.duration_ms`. */
function histogram(durations: readonly number[]): number[] {
  const counts = Array.from({ length: DURATION_BOUNDS_MS.length + 1 }, () => 0);
  for (const duration of durations) {
    const place = DURATION_BOUNDS_MS.findIndex((bound) => duration <= bound);
    counts[place < 0 ? DURATION_BOUNDS_MS.length : place] = (counts.at(place) ?? 0) + 1;
  }
  return counts;
}

beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

test('each table accepts rows in the order of its columns, which expire after thirty days', async () => {
  for (const [table, columns] of Object.entries(OPS_TABLES)) {
    const found = await rows<{ name: string; comment: string }>(
      `SELECT name, comment FROM system.columns WHERE database = currentDatabase() AND table = '${table}' ORDER BY position`,
    );
    expect(found.map(({ name }) => name)).toEqual([...columns]);
    expect(found.filter(({ comment }) => comment === '')).toEqual([]);
    const [definition] = await rows<{ sql: string }>(
      `SELECT create_table_query AS sql FROM system.tables WHERE database = currentDatabase() AND name = '${table}'`,
    );
    expect(definition?.sql).toMatch(/TTL .* \+ toIntervalDay\(30\) SETTINGS .*ttl_only_drop_parts = 1/);
  }
});

test('every view has a comment for each of its columns', async () => {
  const undocumented = await rows(`SELECT table, name FROM system.columns
    WHERE database = currentDatabase() AND comment = ''
      AND table IN (SELECT name FROM system.tables WHERE database = currentDatabase() AND engine = 'View')`);
  expect(undocumented).toEqual([]);
});

describe('views', () => {
  test('batches of the writer by minute and kind', async () => {
    const batch = (outcome: string, count: number, insertMs: number, attempts: number) =>
      [minuteMs + 10, 'a:1', 'click', outcome, count, count * 100, attempts, 50, insertMs, 20, insertMs + 70] as const;
    await put('ops_batches', [
      batch('stored', 100, 10, 1),
      batch('retried', 300, 30, 3),
      batch('bisected', 10, 20, 5),
      batch('parked', 10, 20, 9),
    ]);
    expect(await rows('SELECT * FROM ops_writer_batches')).toEqual([
      {
        minute: MINUTE,
        kind: 'click',
        batches: '4',
        rows: '420',
        bytes: '42000',
        rows_avg: 105,
        rows_max: '300',
        gather_ms_p50: 50,
        insert_ms_p50: 20,
        insert_ms_p99: expect.closeTo(29.7, 0),
        lag_ms_max: '100',
        attempts: '18',
        retried: '1',
        bisected: '1',
        parked: '1',
      },
    ]);
  });

  test('events and their lag by minute, workspace and kind', async () => {
    await put('ops_workspace_minutes', [
      [minuteSeconds, '1', 'click', 10, 200],
      [minuteSeconds, '1', 'click', 5, 900],
      [minuteSeconds, '2', 'sale', 1, 30],
    ]);
    const one = { minute: MINUTE, workspace_id: '1', kind: 'click', events: '15' };
    const other = { minute: MINUTE, workspace_id: '2', kind: 'sale', events: '1' };
    expect(await rows('SELECT * FROM ops_events_per_minute ORDER BY workspace_id')).toEqual([one, other]);
    expect(await rows('SELECT * FROM ops_event_lag ORDER BY workspace_id')).toEqual([
      { ...one, lag_ms_max: '900' },
      { ...other, lag_ms_max: '30' },
    ]);
  });

  test('dead letters and growth of tables from samples', async () => {
    const sample = (afterMs: number, metric: string, value: number) =>
      [minuteMs + afterMs, 'writer', 'a:1', metric, value] as const;
    await put('ops_samples', [
      sample(0, 'dead_letters', 3),
      sample(10_000, 'dead_letters', 2),
      sample(0, 'table_rows:links', 10),
      sample(10_000, 'table_rows:links', 20),
      sample(10_000, 'table_bytes:links', 2000),
      sample(0, 'rss_bytes', 1e8),
    ]);
    expect(await rows('SELECT * FROM ops_dead_letters')).toEqual([{ minute: MINUTE, dead_letters: '3' }]);
    expect(await rows('SELECT table, rows, bytes FROM ops_table_growth')).toEqual([
      { table: 'links', rows: '20', bytes: '2000' },
    ]);
  });

  test('slow and limited requests', async () => {
    const fast = Array.from({ length: 18 }, () => 3);
    const request = (status: number, durations: readonly number[], limited = 0) =>
      [
        minuteSeconds,
        'http',
        'GET /events',
        'pro',
        status,
        durations.length,
        limited,
        durations.reduce((sum, duration) => sum + duration, 0),
        Math.max(...durations),
        histogram(durations),
      ] as const;
    await put('ops_requests', [request(200, fast), request(200, [40]), request(500, [700]), request(429, [0.5], 1)]);
    expect(await rows('SELECT * FROM ops_slow_requests')).toEqual([
      {
        minute: MINUTE,
        service: 'http',
        route: 'GET /events',
        requests: '21',
        failed: '1',
        duration_ms_avg: expect.closeTo(794.5 / 21, 6),
        duration_ms_p95: 50,
        duration_ms_max: 700,
      },
    ]);
    expect(await rows('SELECT * FROM ops_limited_requests')).toEqual([
      { minute: MINUTE, plan: 'pro', route: 'GET /events', requests: '21', limited: '1' },
    ]);
  });

  test('the percentile of requests over ten seconds is their maximum', async () => {
    await put('ops_requests', [
      [minuteSeconds - 60, 'http', 'GET /events', '', 200, 1, 0, 12_000, 12_000, histogram([12_000])],
    ]);
    expect(await rows('SELECT duration_ms_p95 FROM ops_slow_requests WHERE duration_ms_max > 10000')).toEqual([
      { duration_ms_p95: 12_000 },
    ]);
  });

  test('workspaces and links by day, from their roll-ups', async () => {
    const click = aClick({ workspaceId: '7', linkId: '70', timestampMs: minuteMs });
    await insertClicks(db.client, [click, aClick({ workspaceId: '7', linkId: '71', timestampMs: minuteMs })]);
    await insertLeads(db.client, [aLead({ click, timestampMs: minuteMs })]);
    await insertSales(db.client, [aSale({ click, timestampMs: minuteMs, amount: 4900 })]);
    const sums = { leads: '1', sales: '1', sale_amount: '4900' };
    expect(await rows('SELECT * FROM ops_top_workspaces')).toEqual([
      { day: DAY, workspace_id: '7', clicks: '2', ...sums },
    ]);
    expect(await rows('SELECT * FROM ops_top_links ORDER BY sale_amount DESC')).toEqual([
      { day: DAY, workspace_id: '7', link_id: '70', clicks: '1', ...sums },
      { day: DAY, workspace_id: '7', link_id: '71', clicks: '1', leads: '0', sales: '0', sale_amount: '0' },
    ]);
  });

  test('webhook deliveries', async () => {
    const attempt = (status: number, elapsedMs: number) => ({
      workspace_id: '7',
      timestamp: minuteMs,
      webhook_id: '9',
      event_id: 'evt',
      event: 'link.clicked',
      attempt: 1,
      status,
      elapsed_ms: elapsedMs,
    });
    await db.client.insert({
      table: 'webhook_deliveries',
      values: [attempt(204, 10), attempt(500, 10), attempt(0, 10)],
      format: 'JSONEachRow',
    });
    expect(await rows('SELECT * FROM ops_webhook_deliveries')).toEqual([
      {
        minute: MINUTE,
        workspace_id: '7',
        webhook_id: '9',
        event: 'link.clicked',
        attempts: '3',
        delivered: '1',
        failed: '2',
        elapsed_ms_p50: 10,
        elapsed_ms_p95: 10,
      },
    ]);
  });

  test('parts and disks, from the system tables of the server', async () => {
    const [parts] = await rows<Record<string, string>>(
      `SELECT * FROM ops_parts WHERE database = '${db.database}' AND table = 'ops_samples'`,
    );
    expect(parts).toMatchObject({ rows: '6', parts: '1', parts_max: '1', merges: '0' });
    expect(Number(parts?.bytes)).toBeGreaterThan(0);
    const [disk] = await rows<Record<string, string | number>>('SELECT * FROM ops_disk');
    expect(Number(disk?.free_bytes)).toBeGreaterThan(0);
    expect(disk?.used_share).toBeGreaterThan(0);
    expect(disk?.used_share).toBeLessThan(1);
  });
});

test('on a cluster, parts are counted by server, so that the partition that has most is not the sum of its replicas', async () => {
  const text = readFileSync(new URL('../../../../clickhouse/migrations/0046_ops_parts.sql', import.meta.url), 'utf8');
  const [view = ''] = splitStatements(text);
  // Two servers with three parts of one partition and one of another each.
  const parts = `(SELECT arrayJoin([1, 2]) AS host, 'db' AS database, 't' AS table, arrayJoin(['a', 'a', 'a', 'b']) AS partition_id,
    1 AS active, toUInt64(10) AS rows, toUInt64(100) AS bytes_on_disk)`;
  const sql = view
    .slice(view.indexOf('AS SELECT') + 'AS '.length)
    .replace(`\${nodes:system.parts}`, parts)
    .replace('hostName()', 'host');
  const counted = await rows<object>(renderMigration(sql, {}));
  expect(counted).toContainEqual({
    ...{ database: 'db', table: 't', parts: '8', parts_max: '3', rows: '80', bytes: '800', merges: '0' },
  });
});

test('the view of the query log exists where the server has one, and its definition parses for servers and clusters', async () => {
  const [log] = await rows<{ result: number }>('EXISTS TABLE system.query_log');
  expect(await applyQueryLogView(db.client)).toBe(log?.result === 1);
  const views = await rows(
    "SELECT name FROM system.tables WHERE database = currentDatabase() AND name = 'ops_query_log'",
  );
  expect(views).toHaveLength(log?.result === 1 ? 1 : 0);
  for (const target of [{}, { cluster: 'waymark' }]) {
    const result = await db.client.query({
      query: 'SELECT formatQuery({sql:String})',
      query_params: { sql: renderMigration(QUERY_LOG_VIEW, target) },
    });
    expect(await result.text()).toContain('CREATE OR REPLACE VIEW ops_query_log');
  }
});
