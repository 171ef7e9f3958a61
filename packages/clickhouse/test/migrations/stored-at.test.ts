import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { aClick, createTestDatabase, insertClicks, type TestDatabase } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { migrate } from '../../src/index.js';
import { MIGRATIONS_DIRECTORY } from '../../src/migrations/migration-files.js';

let database: TestDatabase;
let directory: string;
beforeAll(async () => {
  database = await createTestDatabase({ migrated: false });
  directory = mkdtempSync(join(tmpdir(), 'waymark-migrations-'));
});
afterAll(async () => {
  await database.drop();
  rmSync(directory, { recursive: true });
});

const HAPPENED = Date.parse('2026-03-01T00:00:00.123Z');

async function storedTimes(condition: string): Promise<string[]> {
  const query = `SELECT DISTINCT toString(stored_at) FROM click_events WHERE workspace_id = 1 ${condition} ORDER BY 1`;
  return (await database.client.rows<[string]>({ query })).map(([time]) => time);
}

test('clicks from before there was a time of storage count as stored when they happened, before and after a merge', async () => {
  cpSync(MIGRATIONS_DIRECTORY, directory, {
    recursive: true,
    filter: (path) => !/^00(3[89]|[4-9])/.test(basename(path)),
  });
  await migrate(database.client, { directory });
  const clicks = (linkId: string) => [aClick({ workspaceId: '1', linkId, timestampMs: HAPPENED })];
  await insertClicks(database.client, clicks('7'));
  await migrate(database.client);
  await insertClicks(database.client, clicks('7'));
  await database.client.command({
    query: `INSERT INTO click_events (workspace_id, timestamp, click_id, link_id, stored_at)
      VALUES (1, '2026-03-01 00:00:00.123', 'abcdefghijklmnop', 7, '2026-03-09 00:00:00')`,
  });
  const expected = ['2026-03-01 00:00:00.123', '2026-03-09 00:00:00.000'];
  for (const merge of [false, true]) {
    if (merge) await database.client.command({ query: 'OPTIMIZE TABLE click_events FINAL' });
    // By the table and by its projection.
    expect(await storedTimes('')).toEqual(expected);
    expect(await storedTimes('AND link_id = 7')).toEqual(expected);
    expect(await storedTimes("AND stored_at >= '2026-03-08'")).toEqual(expected.slice(1));
  }
});
