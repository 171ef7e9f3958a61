import { randomUUID } from 'node:crypto';
import { aClick, createTestDatabase, type TestDatabase } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { BatchRows } from '../../src/writer/batch-rows.js';
import { createEventTable, type EventTable } from '../../src/writer/event-table.js';
import { createBatchInserter } from '../../src/writer/insert/batch-inserter.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const LINK = '77';

const storedCount = async () => {
  const query = 'SELECT count(), uniqExact(click_id) FROM click_events WHERE link_id = {link:UInt64}';
  const [row] = await database.client.rows<[string, string]>({ query, parameters: { link: LINK } });
  return row;
};

it('an earlier insert that ClickHouse stores while its rows are looked up is not repeated in part', async () => {
  const table = createEventTable({ client: database.client, kind: 'click', now: Date.now });
  const rows = [1, 2, 3, 4].map(() => JSON.stringify(aClick({ linkId: LINK, timestampMs: Date.now() })));
  const id = randomUUID();
  let isFirst = true;
  /** Looks up half of the rows before the earlier insert is stored, and the others after it. */
  const findPresent: EventTable['findPresent'] = async (some) => {
    if (!isFirst) return table.findPresent(some);
    isFirst = false;
    const before = await table.findPresent(some.slice(0, 2));
    await table.insert(1, rows, id);
    return new Set([...before, ...(await table.findPresent(some.slice(2)))]);
  };
  const inserter = createBatchInserter({
    ...{ kind: 'click', table: { ...table, findPresent }, now: Date.now },
    // The batch has expired, so its rows are looked up.
    manifest: {
      ...{ read: async () => undefined, insertsSince: async () => 0 },
      ...{ addInserts: async () => {}, markSplit: async () => {} },
    },
    retry: (_what, work) => work(0),
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    parkRow: () => Promise.reject(new Error('no row is refused')),
  });
  const batch = { id, kind: 'click', version: 1, jobIds: [], skipped: {}, at: Date.now() } as const;
  const texts: BatchRows = { texts: rows, faulty: [], missing: [], originOf: (index) => ({ jobId: id, index }) };
  await inserter.insertWhole(batch, texts, true);
  expect(await storedCount()).toEqual(['4', '4']);
});
