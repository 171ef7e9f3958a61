import { DURATION_BOUNDS_MS, insertRows, OPS_TABLES } from '@waymark/clickhouse';
import { createTestDatabase, type TestDatabase } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createPanelReader } from '../src/ops/panel-reader.js';
import { OPS_RANGES } from '../src/ops/range.js';

let database: TestDatabase;
const nowMs = Date.now();

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

/** The values of a plot, without gaps, by the name of their series. */
async function valuesOf(id: string): Promise<Record<string, (number | null)[]>> {
  const logger = { warn: (context: object, message: string) => expect.fail(`${message}: ${JSON.stringify(context)}`) };
  const reader = createPanelReader({ clickhouse: database.client, logger, now: () => nowMs, readMsMax: 60_000 });
  const { plots } = await reader.read(OPS_RANGES[0], false);
  const series = plots[id]?.series ?? [];
  return Object.fromEntries(series.map(({ name, values }) => [name, values.filter((value) => value !== null)]));
}

const minutesAgo = (minutes: number) => Math.floor(nowMs / 60_000) * 60 - minutes * 60;

it('a response time is the upper bound of its bucket in the histogram that is written', async () => {
  await insertRows(database.client, {
    table: 'ops_requests',
    columns: OPS_TABLES.ops_requests,
    rows: DURATION_BOUNDS_MS.map((_bound, index) => {
      const buckets = [...DURATION_BOUNDS_MS.map((_other, at) => (at === index ? 99 : 0)), 1];
      return [minutesAgo(30 - index), 'http', 'GET /events', 'pro', 200, 100, 0, 600_000, 61_000, buckets];
    }) as never,
  });
  expect(await valuesOf('durations')).toEqual({ median: [...DURATION_BOUNDS_MS], '95 %': [...DURATION_BOUNDS_MS] });
  await database.client.command({ query: 'TRUNCATE TABLE ops_requests' });
});

it('a response time is never above that of the slowest request, nor cut at ten seconds', async () => {
  const buckets = (index: number) => Array.from({ length: 14 }, (_, at) => (at === index ? 10 : 0));
  await insertRows(database.client, {
    table: 'ops_requests',
    columns: OPS_TABLES.ops_requests,
    rows: [
      [minutesAgo(10), 'http', 'GET /events', 'pro', 200, 10, 0, 600_000, 61_000, buckets(13)],
      [minutesAgo(5), 'http', 'GET /events', 'pro', 200, 10, 0, 3000, 320, buckets(8)],
    ] as never,
  });
  expect(await valuesOf('durations')).toEqual({ median: [61_000, 320], '95 %': [61_000, 320] });
});

it('the memory of Redis is that of the fullest queue shard', async () => {
  const sample = (metric: string, value: number) => [nowMs - 60_000, 'writer', 'host:1', metric, value] as const;
  await insertRows(database.client, {
    table: 'ops_samples',
    columns: OPS_TABLES.ops_samples,
    rows: [
      ...[sample('redis_used_bytes', 200), sample('redis_limit_bytes', 1000)],
      ...[sample('redis_used_bytes@1', 900), sample('redis_limit_bytes@1', 1000)],
      ...[sample('redis_used_bytes@2', 5000), sample('redis_limit_bytes@2', 0)],
    ],
  });
  expect(await valuesOf('redis-memory')).toEqual({ used: [900], limit: [1000] });
});
