import { randomUUID } from 'node:crypto';
import { aClick, aSale, startClickHouse, type TestClickHouse, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type ClickHouseClient,
  createClickHouseClient,
  EVENT_TABLES,
  type EventRow,
  insertRows,
  isInfrastructureError,
  migrate,
} from '../src/index.js';

const KILLS = 5;
const ROWS_PER_INSERT = 50;
const YEAR_MS = 365 * 24 * 3600 * 1000;

let server: TestClickHouse;
let client: ClickHouseClient;
beforeAll(async () => {
  server = await startClickHouse();
  client = createClickHouseClient({ url: server.url, database: 'waymark', requestTimeoutMs: 5_000 });
  await migrate(client);
});
afterAll(async () => {
  await client.close();
  await server.stop();
});

/** One group as the writer makes it: rows of three years under one token. */
function aGroup(workspaceId: string, number: number): { token: string; rows: EventRow[] } {
  const rows = Array.from({ length: ROWS_PER_INSERT }, (_, index) =>
    aClick({
      workspaceId,
      linkId: String(1 + (index % 7)),
      timestampMs: Date.UTC(2024, 5, 1) + (index % 3) * YEAR_MS + number,
    }),
  );
  return { token: randomUUID(), rows };
}

async function insertUntilDone({ token, rows }: ReturnType<typeof aGroup>): Promise<void> {
  await waitFor(
    async () => {
      try {
        await insertRows(client, {
          table: 'click_events',
          columns: EVENT_TABLES.click.columns[1],
          rows,
          deduplicationToken: token,
        });
        return true;
      } catch (err) {
        if (!isInfrastructureError(err)) throw err;
        return false;
      }
    },
    { what: 'an insert to be acknowledged', timeoutMs: 30_000 },
  );
}

async function counts(workspaceId: string): Promise<unknown> {
  const result = await client.query({
    query: `SELECT
      (SELECT count() FROM click_events WHERE workspace_id = {workspaceId:UInt64}) AS base,
      (SELECT uniqExact(click_id) FROM click_events WHERE workspace_id = {workspaceId:UInt64}) AS ids,
      (SELECT sum(clicks) FROM link_totals WHERE workspace_id = {workspaceId:UInt64}) AS totals,
      (SELECT sum(clicks) FROM workspace_slots WHERE workspace_id = {workspaceId:UInt64}) AS slots,
      (SELECT sum(clicks) FROM link_days WHERE workspace_id = {workspaceId:UInt64}) AS days`,
    query_params: { workspaceId },
    format: 'JSONEachRow',
  });
  const [row] = await result.json();
  return row;
}

function all(rows: number) {
  const text = String(rows);
  return { base: text, ids: text, totals: text, slots: text, days: text };
}

test('inserts repeated under their tokens over kills -9 are there once, in the table and in every view', async () => {
  let acknowledged = 0;
  let isOver = false;
  const work = async (worker: number) => {
    let number = 0;
    while (!isOver) {
      await insertUntilDone(aGroup('1', worker * 1_000_000 + number++));
      acknowledged += ROWS_PER_INSERT;
    }
  };
  const workers = [1, 2, 3, 4].map(work);
  for (let kill = 0; kill < KILLS; kill++) {
    const before = acknowledged;
    await waitFor(() => acknowledged > before + 20 * ROWS_PER_INSERT, { what: 'inserts to flow' });
    await server.kill9();
    await server.restart();
  }
  isOver = true;
  await Promise.all(workers);
  expect(await counts('1')).toEqual(all(acknowledged));
});

test('the same group sent by several at once is there once', async () => {
  const group = aGroup('2', 1);
  await Promise.all(Array.from({ length: 8 }, () => insertUntilDone(group)));
  expect(await counts('2')).toEqual(all(ROWS_PER_INSERT));
});

test('a group without a token, or under another one, is there again', async () => {
  const group = aGroup('3', 1);
  await insertUntilDone(group);
  await insertUntilDone({ ...group, token: randomUUID() });
  expect(await counts('3')).toMatchObject({ base: String(2 * ROWS_PER_INSERT), totals: String(2 * ROWS_PER_INSERT) });
});

test('other rows under a used token are dropped: the token is the whole identity', async () => {
  const { token } = aGroup('4', 1);
  await insertUntilDone({ ...aGroup('4', 1), token });
  await insertUntilDone({ ...aGroup('4', 2), token });
  expect(await counts('4')).toEqual(all(ROWS_PER_INSERT));
});

test('a repeat reaches the views that the first try did not reach', async () => {
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
