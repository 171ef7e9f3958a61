import { randomUUID } from 'node:crypto';
import { readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from '@clickhouse/client';
import { startClickHouse } from '@waymark/test-kit';
import { expect, onTestFinished, test } from 'vitest';
import { validRecords } from '../src/engine/deduplication-log.js';

test('a record is valid if its part, or a part merged or mutated from it, is on disk', () => {
  const log = '1\t2026_1_1_0\ta\n1\t2026_2_2_0\tb\n1\tall_7_7_0\tc\n1\t2026_9_9_0\td\n2\t2026_9_9_0\td\n';
  expect(validRecords(log, ['2026_1_4_1', 'all_7_7_0_12', '2026_9_9_0', 'detached', 'format_version.txt'])).toEqual(
    log.trim().split('\n'),
  );
});

test('a record is invalid if no part contains it: none, other partition, other block numbers, or temporary', () => {
  const log = '1\t2026_3_3_0\ta\n';
  for (const parts of [[], ['2025_3_3_0'], ['2026_1_2_1', '2026_4_9_1'], ['tmp_insert_2026_3_3_0']]) {
    expect(validRecords(log, parts)).toEqual([]);
  }
});

test('an incomplete last line is removed', () => {
  for (const cut of ['1\tall_2_', '1\tall_2_2_0\tb']) {
    expect(validRecords(`1\tall_1_1_0\ta\n${cut}`, ['all_1_1_0', 'all_2_2_0'])).toEqual(['1\tall_1_1_0\ta']);
  }
});

test('an insert killed between its record and its part is inserted when it is repeated', async () => {
  const server = await startClickHouse();
  onTestFinished(() => server.stop());
  const client = createClient({ url: server.url });
  onTestFinished(() => client.close());
  await client.command({
    query: `CREATE TABLE events (n UInt64, year UInt16) ENGINE = MergeTree PARTITION BY year ORDER BY n
            SETTINGS non_replicated_deduplication_window = 100`,
  });
  const insert = (token: string, rows: { n: number; year: number }[]) =>
    client.insert({
      table: 'events',
      values: rows,
      format: 'JSONEachRow',
      clickhouse_settings: { insert_deduplication_token: token },
    });
  const [whole, torn] = [randomUUID(), randomUUID()];
  await insert(whole, [{ n: 1, year: 2026 }]);
  const rows = [
    { n: 2, year: 2025 },
    { n: 3, year: 2026 },
  ];
  await insert(torn, rows);
  await server.kill9();
  const table = tableDirectory(server.dataDir);
  renameSync(join(table, '2026_3_3_0'), join(table, 'tmp_insert_2026_3_3_0'));

  await server.restart();
  await insert(torn, rows);
  await insert(torn, rows);
  await insert(whole, [{ n: 1, year: 2026 }]);
  const result = await client.query({ query: 'SELECT n FROM events ORDER BY n', format: 'JSONEachRow' });
  expect((await result.json<{ n: string | number }>()).map(({ n }) => Number(n))).toEqual([1, 2, 3]);
});

function tableDirectory(dataDir: string): string {
  const store = join(dataDir, 'store');
  const tables = readdirSync(store).flatMap((prefix) =>
    readdirSync(join(store, prefix)).map((name) => join(store, prefix, name)),
  );
  return tables.find((table) => readdirSync(table).includes('deduplication_logs'))!;
}
