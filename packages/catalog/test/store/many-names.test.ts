import { createTestDatabase, type TestDatabase } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createNamesTable } from '../../src/store/unique-names.js';

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

it('long names that are looked up at the same time, as by visits of unknown links, do not fail the look-ups of others', async () => {
  const names = createNamesTable(database.client, {});
  const ofLink = (name: string) => names.rowsOf({ kind: 'link', scope: 'go.acme.com', name });
  // An apostrophe takes six bytes in the URL of a statement.
  const long = Array.from({ length: 249 }, (_none, index) => ofLink(`${"'".repeat(1020)}${index}`));
  expect(await ofLink('try')).toEqual([]);
  expect(await Promise.all(long)).toEqual(long.map(() => []));
});
