import { createTestDatabase, waitFor } from '@waymark/test-kit';
import { expect, onTestFinished, test } from 'vitest';
import { aGroup, counts, everywhere, insertUntilDone, ROWS_PER_GROUP } from './event-groups.js';

const TABLES = ['click_events', 'link_totals', 'workspace_slots', 'link_days'];

test('old parts of the events and of their totals are merged into one, and repeats of their inserts are still dropped', async () => {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const { client } = database;
  const count = async (query: string) => {
    const result = await client.query({ query, query_params: { tables: TABLES }, format: 'JSONCompactEachRow' });
    const [row] = await result.json<[string]>();
    return Number(row?.[0]);
  };
  const ofTables = 'database = currentDatabase() AND';
  const withSetting = await count(`SELECT count() FROM system.tables WHERE ${ofTables} name IN ({tables:Array(String)})
  AND create_table_query LIKE '%min_age_to_force_merge_seconds = 43200%'`);
  expect(withSetting).toBe(TABLES.length);

  const groups = [1, 2].map((number) => aGroup('7', number));
  for (const group of groups) await insertUntilDone(client, group);
  for (const table of TABLES) {
    await client.command({ query: `ALTER TABLE ${table} MODIFY SETTING min_age_to_force_merge_seconds = 1` });
  }
  const parts = `SELECT count() - uniqExact(table, partition) FROM system.parts
WHERE active AND ${ofTables} table IN ({tables:Array(String)})`;
  // The engine checks idle tables for merges ever less often; an insert causes a check.
  await insertUntilDone(client, aGroup('8', 1));
  await waitFor(async () => (await count(parts)) === 0, { what: 'one part a partition', timeoutMs: 90_000 });

  for (const group of groups) await insertUntilDone(client, group);
  expect(await counts(client, '7')).toEqual(everywhere(2 * ROWS_PER_GROUP));
}, 120_000);
