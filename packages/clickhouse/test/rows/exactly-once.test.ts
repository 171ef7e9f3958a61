import { randomUUID } from 'node:crypto';
import { EVENT_TABLES } from '@waymark/event-format';
import { aClick, aSale, createTestDatabase, type TestDatabase } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ClickHouseClient, insertRows } from '../../src/index.js';
import { aGroup, counts, everywhere, insertUntilDone, ROWS_PER_GROUP } from './event-groups.js';

let db: TestDatabase;
let client: ClickHouseClient;
beforeAll(async () => {
  db = await createTestDatabase();
  ({ client } = db);
});
afterAll(() => db.drop());

test('the same batch inserted concurrently is stored once', async () => {
  const group = aGroup('2', 1);
  await Promise.all(Array.from({ length: 8 }, () => insertUntilDone(client, group)));
  expect(await counts(client, '2')).toEqual(everywhere(ROWS_PER_GROUP));
});

test('a batch without a token, or with another one, is stored again', async () => {
  const group = aGroup('3', 1);
  await insertUntilDone(client, group);
  await insertUntilDone(client, { ...group, token: randomUUID() });
  expect(await counts(client, '3')).toMatchObject({
    base: String(2 * ROWS_PER_GROUP),
    totals: String(2 * ROWS_PER_GROUP),
  });
});

test('other rows with a used token are dropped: only the token is compared', async () => {
  const { token } = aGroup('4', 1);
  await insertUntilDone(client, { ...aGroup('4', 1), token });
  await insertUntilDone(client, { ...aGroup('4', 2), token });
  expect(await counts(client, '4')).toEqual(everywhere(ROWS_PER_GROUP));
});

test('a repeated insert completes the views that the first attempt did not reach', async () => {
  await client.command({
    query: `CREATE TABLE gate (n UInt8) ENGINE = Memory`,
  });
  await client.command({
    query: `CREATE TABLE gated (workspace_id UInt64, sales UInt64) ENGINE = MergeTree ORDER BY workspace_id
            SETTINGS non_replicated_deduplication_window = 100`,
  });
  await client.command({
    query: `CREATE MATERIALIZED VIEW gated_mv TO gated AS SELECT workspace_id, count() AS sales FROM sale_events
            WHERE throwIf((SELECT count() FROM gate) = 0, 'the gate is closed') = 0 GROUP BY workspace_id`,
  });
  const insertion = {
    table: 'sale_events',
    columns: EVENT_TABLES.sale.columns[1],
    rows: [aSale({ click: aClick({ workspaceId: '5' }) })],
    deduplicationToken: randomUUID(),
  };
  await expect(insertRows(client, insertion)).rejects.toMatchObject({ code: '395' });
  await client.command({ query: 'INSERT INTO gate VALUES (1)' });
  await insertRows(client, insertion);
  await insertRows(client, insertion);
  const result = await client.query({
    query: `SELECT (SELECT count() FROM sale_events WHERE workspace_id = 5) AS base,
      (SELECT sum(sales) FROM gated WHERE workspace_id = 5) AS gated,
      (SELECT sum(sales) FROM link_totals WHERE workspace_id = 5) AS totals,
      (SELECT sum(sales) FROM customer_totals WHERE workspace_id = 5) AS customers`,
    format: 'JSONEachRow',
  });
  expect(await result.json()).toEqual([{ base: '1', gated: '1', totals: '1', customers: '1' }]);
});
