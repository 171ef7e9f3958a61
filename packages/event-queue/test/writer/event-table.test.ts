import { aClick, createTestDatabase, insertClicks, type TestDatabase } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { silentRow } from '../../src/queue/job-rows.js';
import { createEventTable } from '../../src/writer/event-table.js';

const HAPPENED = Date.parse('2026-03-01T00:00:00.123Z');
const STORED = Date.parse('2026-11-25T10:20:30.456Z');

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const aRow = (workspaceId: string, linkId = '7') =>
  JSON.stringify(aClick({ workspaceId, linkId, timestampMs: HAPPENED }));

async function storedTimes(workspace: string, more = ''): Promise<string[]> {
  const rows = await database.client.rows<[string]>({
    query: `SELECT toString(stored_at) FROM click_events WHERE workspace_id = {workspace:UInt64} ${more} ORDER BY stored_at`,
    parameters: { workspace },
  });
  return rows.map(([time]) => time);
}

it('a row has the time of its insert, whenever the event happened', async () => {
  const table = createEventTable({ client: database.client, kind: 'click', now: () => STORED });
  await table.insert(1, [aRow('1'), silentRow(aRow('1'))], 'first');
  expect(await storedTimes('1')).toEqual(['2026-11-25 10:20:30.456', '2026-11-25 10:20:30.456']);
  // The projection has it too.
  expect(await storedTimes('1', 'AND link_id = 7')).toHaveLength(2);
});

it('a repeated insert leaves the time of the one that was stored', async () => {
  const row = aRow('2');
  for (const later of [0, 60_000]) {
    await createEventTable({ client: database.client, kind: 'click', now: () => STORED + later }).insert(
      1,
      [row],
      'repeated',
    );
  }
  expect(await storedTimes('2')).toEqual(['2026-11-25 10:20:30.456']);
});

it('a row that is inserted without a time of storage has the time of its event', async () => {
  await insertClicks(database.client, [aClick({ workspaceId: '3', timestampMs: HAPPENED })]);
  expect(await storedTimes('3')).toEqual(['2026-03-01 00:00:00.123']);
});
