import { setMaxListeners } from 'node:events';
import { createTestDatabase, type TestDatabase, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, test } from 'vitest';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
  await db.client.command({ query: 'CREATE TABLE numbers_of_test (n UInt64) ENGINE = MergeTree ORDER BY n' });
});
afterAll(() => db.drop());

/** Takes a second per block, a minute in total. */
const slowRead = (mark: string) => `SELECT sleepEachRow(1) /* ${mark} */ FROM numbers(60) SETTINGS max_block_size = 1`;

/** Waits until so many slow reads with a mark run. */
async function untilRunning(mark: string, reads: number): Promise<void> {
  const query = `SELECT count() FROM system.processes WHERE query LIKE 'SELECT sleepEachRow(1) /* ${mark} */%'`;
  const count = async () => Number((await db.client.rows<[string]>({ query }))[0]?.[0]);
  await waitFor(async () => (await count()) >= reads, { what: `${reads} slow reads to run` });
}

/** The sessions for reads of workspaces, of which the last two are kept for workspaces that have none. */
const SESSIONS = 8;
/** More than there are sessions. */
const SLOW = 20;
/** More than a client has connections for reads of workspaces. */
const SLOW_MANY = 40;

test('look-ups and inserts do not wait for slow reads of workspaces', async () => {
  const leave = new AbortController();
  setMaxListeners(SLOW_MANY, leave.signal);
  let ended = 0;
  const slow = Array.from({ length: SLOW_MANY }, async (_, index) => {
    const read = { query: slowRead('of many'), owner: `ws_${index % SESSIONS}`, signal: leave.signal };
    await db.client.rows(read).then(
      () => (ended += 1),
      () => undefined,
    );
  });
  await untilRunning('of many', SESSIONS);
  await db.client.insert({ table: 'numbers_of_test', values: [{ n: 7 }], format: 'JSONEachRow' });
  expect(await db.client.rows({ query: 'SELECT n FROM numbers_of_test WHERE n = 7' })).toEqual([['7']]);
  expect(ended).toBe(0);
  leave.abort();
  await Promise.all(slow);
});

test('a read of a workspace does not wait for those of another one', async () => {
  const leave = new AbortController();
  setMaxListeners(SLOW_MANY, leave.signal);
  const slow = Array.from({ length: SLOW }, async () => {
    const read = { query: slowRead('of one'), owner: 'ws_busy', signal: leave.signal };
    await db.client.rows(read).catch(() => undefined);
  });
  let hasEnded = false;
  void slow[0]?.then(() => {
    hasEnded = true;
  });
  await untilRunning('of one', SESSIONS - 2);
  expect(await db.client.rows({ query: 'SELECT 1', owner: 'ws_other' })).toEqual([[1]]);
  expect(hasEnded).toBe(false);
  leave.abort();
  await Promise.all(slow);
});
