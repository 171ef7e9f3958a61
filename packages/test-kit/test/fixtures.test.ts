import { migrate } from '@waymark/clickhouse';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import {
  aClick,
  aLead,
  aSale,
  createTestDatabase,
  insertClicks,
  insertLeads,
  insertSales,
  startRedis,
  type TestDatabase,
} from '../src/index.js';
import { readSchema } from '../src/stores/database-reuse.js';

test('built events of every kind can be inserted and are counted by the views', async () => {
  const { client, drop } = await createTestDatabase();
  await insertClicks(client, [aClick(), aClick({ linkId: '5' })]);
  await insertLeads(client, [aLead()]);
  await insertSales(client, [aSale({ amount: 1200 })]);
  const result = await client.query({
    query:
      'SELECT sum(clicks) AS clicks, sum(leads) AS leads, sum(sales) AS sales, sum(sale_amount) AS amount FROM link_totals',
    format: 'JSONEachRow',
  });
  expect(await result.json()).toEqual([{ clicks: '2', leads: '1', sales: '1', amount: '1200' }]);
  await drop();
});

test('a reused database has no rows, and accepts rows that it had before', async () => {
  const click = aClick();
  const counts: string[] = [];
  for (let use = 0; use < 3; use++) {
    const { client, drop } = await createTestDatabase();
    await insertClicks(client, [click]);
    const result = await client.query({
      query: 'SELECT (SELECT count() FROM click_events), (SELECT sum(clicks) FROM link_totals)',
      format: 'TabSeparated',
    });
    counts.push((await result.text()).trim());
    await drop();
  }
  expect(counts).toEqual(['1\t1', '1\t1', '1\t1']);
});

test.each([
  ['a table', 'ALTER TABLE click_events ADD COLUMN extra UInt8'],
  ['rows by a mutation', 'ALTER TABLE click_events DELETE WHERE 1'],
  ['a migration', 'TRUNCATE TABLE schema_migrations'],
])('a database in which a test changed %s is not used again', async (_what, statement) => {
  const changed = await createTestDatabase();
  await changed.client.command({ query: statement });
  await changed.drop();
  const next = await createTestDatabase();
  const found = await next.client.rows({
    query: 'SELECT name FROM system.databases WHERE name = {name:String}',
    parameters: { name: changed.database },
  });
  expect(found).toEqual([]);
  await next.drop();
});

test('a database made from the first one of the run equals one that was migrated', async () => {
  // Databases that are free are reused, so one of three is a copy at least.
  const copies = await Promise.all(Array.from({ length: 3 }, () => createTestDatabase()));
  const migrated = await createTestDatabase({ migrated: false });
  await migrate(migrated.client);
  const schemaOf = async ({ client, database }: TestDatabase) => (await readSchema(client)).replaceAll(database, 'db');
  const expected = await schemaOf(migrated);
  for (const copy of copies) {
    expect(await schemaOf(copy)).toBe(expected);
    expect((await migrate(copy.client)).applied).toEqual([]);
    await copy.drop();
  }
  await migrated.drop();
});

test('a Redis of a test keeps its data and its port after kill -9', async () => {
  const redis = await startRedis({ args: [] });
  const client = new Redis(redis.url, { retryStrategy: () => 50 }).on('error', () => undefined);
  onTestFinished(async () => {
    client.disconnect();
    await redis.stop();
  });
  await client.set('name', 'value');
  const before = redis.pid;
  await redis.kill9();
  await redis.restart();
  expect(redis.pid).not.toBe(before);
  expect(await client.get('name')).toBe('value');
});

test('a Redis that cannot start ends the wait for it, with its exit code', async () => {
  await expect(startRedis({ args: ['--no-such-option', '1'] })).rejects.toThrow('redis-server ended with exit code 1');
});
