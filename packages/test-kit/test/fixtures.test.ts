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
import { emptyTables, readSchema } from '../src/stores/database-reuse.js';
import { repairTables } from '../src/stores/database-template.js';

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

const isThere = async ({ client }: TestDatabase, database: string) => {
  const query = 'SELECT 1 FROM system.databases WHERE name = {name:String}';
  return (await client.rows({ query, parameters: { name: database } })).length === 1;
};

test.each([
  ['a table', ['ALTER TABLE click_events ADD COLUMN extra UInt8']],
  ['rows by a mutation', ['ALTER TABLE click_events DELETE WHERE 1']],
  ['a roll-up', ['DROP TABLE link_totals', 'CREATE TABLE link_totals (a UInt8) ENGINE = MergeTree ORDER BY a']],
  ['which tables and views there are', ['DROP TABLE click_events', 'CREATE VIEW added AS SELECT 1']],
])(
  'a database in which a test changed %s has its former schema after the repair, and counts as before',
  async (_what, statements) => {
    const { client, database, drop } = await createTestDatabase();
    const schema = await readSchema(client);
    const events = async () => {
      const click = aClick({ clickId: 'the-same-click-1' });
      await insertClicks(client, [click]);
      const counted = ['link_totals', 'workspace_slots', 'link_days'].map(
        (table) => `(SELECT sum(clicks) FROM ${table})`,
      );
      return client.rows({ query: `SELECT (SELECT count() FROM click_events), ${counted.join(', ')}` });
    };
    const before = await events();
    for (const query of statements) await client.command({ query });
    expect(await readSchema(client)).not.toBe(schema);
    expect(await repairTables(client, database, schema)).toBe(true);
    expect(await readSchema(client)).toBe(schema);
    await emptyTables(client);
    expect(await events()).toEqual(before);
    expect(before).toEqual([['1', '1', '1', '1']]);
    await drop();
  },
);

test.each([
  ['a table is used again', 'ALTER TABLE click_events ADD COLUMN extra UInt8', true],
  ['a migration is not used again', 'TRUNCATE TABLE schema_migrations', false],
])('a database in which a test changed %s', async (_what, query, isUsedAgain) => {
  const changed = await createTestDatabase();
  const other = await createTestDatabase();
  await changed.client.command({ query });
  await changed.drop();
  expect(await isThere(other, changed.database)).toBe(isUsedAgain);
  await other.drop();
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
