import { type ClickHouseClient, createClickHouseClient } from '@waymark/clickhouse';
import { createTestDatabase, type TestDatabase, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { createOpsLog, type OpsLog } from '../src/ops-log.js';

let database: TestDatabase;
const warnings: string[] = [];
const logger = { debug() {}, warn: (_context: object, message: string) => void warnings.push(message) };

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

function aLog(clickhouse: ClickHouseClient, rowsMax: number): OpsLog {
  const log = createOpsLog({ clickhouse, logger, intervalMs: 3_600_000, rowsMax });
  onTestFinished(() => log.close());
  return log;
}

const aSample = (value: number) => [Date.now(), 'http', 'a:1', 'rss_bytes', value];

async function samples(): Promise<number[]> {
  const result = await database.client.query({
    query: 'SELECT value FROM ops_samples ORDER BY value',
    format: 'JSONCompactEachRow',
  });
  return (await result.json<[number]>()).map(([value]) => value);
}

it('while ClickHouse does not answer it keeps a limited number of rows, drops and counts the rest', async () => {
  const away = createClickHouseClient({ url: 'http://127.0.0.1:1', database: 'x' });
  onTestFinished(() => away.close());
  const log = aLog(away, 3);
  for (const value of [1, 2, 3, 4, 5]) log.add('ops_samples', aSample(value));
  expect(log.dropped()).toBe(2);
  await log.flush();
  await log.flush();
  expect(log.dropped()).toBe(2);
  expect(warnings.filter((text) => text.includes('rows of operator tables are buffered'))).toHaveLength(1);
});

it('rows that ClickHouse refuses are given up and counted, and hold up no others', async () => {
  const log = aLog(database.client, 100);
  log.add('ops_requests', ['no minute', 'http', 'GET /', '', 200, 1, 0, 1, 1, [1]]);
  log.add('ops_samples', aSample(7));
  await log.flush();
  await log.flush();
  expect(log.dropped()).toBe(1);
  expect(await samples()).toEqual([7]);
});

it('closing writes what is left', async () => {
  const log = aLog(database.client, 100);
  log.onFlush(() => log.add('ops_samples', aSample(9)));
  log.add('ops_samples', aSample(8));
  await log.close();
  expect(await samples()).toEqual(expect.arrayContaining([8, 9]));
});

it('samples of an idle process are written every third interval, beside other rows at the next', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const log = createOpsLog({ clickhouse: database.client, logger, intervalMs: 10_000 });
  const collected = vi.fn();
  log.onFlush(collected);
  const stored = (value: number) => samples().then((values) => values.includes(value));
  const untilStored = (value: number) => waitFor(() => stored(value), { what: `sample ${value}` });

  log.add('ops_samples', aSample(21));
  vi.advanceTimersByTime(20_000);
  expect(collected).toHaveBeenCalledTimes(2);
  vi.advanceTimersByTime(10_000);
  expect(collected).toHaveBeenCalledTimes(3);
  await untilStored(21);

  log.add('ops_samples', aSample(22));
  vi.advanceTimersByTime(10_000);
  log.add('ops_requests', [Math.floor(Date.now() / 1000), 'http', 'GET /', '', 200, 1, 0, 1, 1, [1]]);
  expect(await stored(22)).toBe(false);
  vi.advanceTimersByTime(10_000);
  await untilStored(22);
  await log.close();
});
