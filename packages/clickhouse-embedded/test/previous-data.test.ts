import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createClient } from '@clickhouse/client';
import { startClickHouse } from '@waymark/test-kit';
import { expect, onTestFinished, test } from 'vitest';

/** Creates data as earlier releases did, whose engine did not check grants. */
const WRITER = `
const [, loader, dataDir] = process.argv;
const native = require(loader).loadNative();
const connection = native.CreateConnection(dataDir, []);
const statements = [
  'CREATE DATABASE waymark',
  'CREATE TABLE waymark.events (id UInt64, at DateTime64(3) DEFAULT now64(3)) ENGINE = MergeTree ORDER BY id SETTINGS non_replicated_deduplication_window = 100',
  'CREATE TABLE waymark.days (day Date, events SimpleAggregateFunction(sum, UInt64)) ENGINE = AggregatingMergeTree ORDER BY day',
  'CREATE MATERIALIZED VIEW waymark.to_days TO waymark.days AS SELECT toDate(at) AS day, toUInt64(count()) AS events FROM waymark.events GROUP BY day',
  'CREATE VIEW waymark.seen AS SELECT id FROM waymark.events',
  'INSERT INTO waymark.events (id) SELECT number FROM numbers(10)',
];
(async () => {
  for (const sql of statements) await native.QueryAsyncConnection(connection, sql, 'Null');
  native.CloseConnection(connection);
})();
`;

test('data of a release without grants is read, written and changed as before', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'waymark-previous-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 }));
  mkdirSync(dataDir, { recursive: true });
  const package_ = createRequire(import.meta.url).resolve('chdb/package.json');
  execFileSync(process.execPath, ['-e', WRITER, join(dirname(package_), 'dist', 'loader.js'), dataDir]);
  const server = await startClickHouse({ dataDir });
  onTestFinished(() => server.stop());
  const client = createClient({ url: server.url, database: 'waymark' });
  onTestFinished(() => client.close());
  const count = async (from: string) => {
    const result = await client.query({ query: `SELECT toUInt32(${from}) AS n`, format: 'JSONEachRow' });
    return (await result.json<{ n: number }>())[0]?.n;
  };
  expect(await count('(SELECT count() FROM seen)')).toBe(10);
  expect(await count('(SELECT sum(events) FROM days)')).toBe(10);
  await client.insert({ table: 'events', values: [{ id: 11 }, { id: 12 }], format: 'JSONEachRow' });
  expect(await count('(SELECT sum(events) FROM days)')).toBe(12);
  await client.command({ query: 'ALTER TABLE events ADD COLUMN name String' });
  await client.command({
    query: 'ALTER TABLE events DELETE WHERE id = 11',
    clickhouse_settings: { mutations_sync: '1' },
  });
  expect(await count('(SELECT count() FROM seen)')).toBe(11);
  await client.command({ query: 'DROP TABLE days' });
  expect(statSync(join(dataDir, 'access.xml')).mode & 0o077).toBe(0);
});
