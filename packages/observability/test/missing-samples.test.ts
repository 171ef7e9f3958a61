import { createTestDatabase, type TestDatabase } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createMissingSamples } from '../src/metrics/missing-samples.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

it('warns once of refusals in a row with the same code, for each kind of metrics, and of nothing else', async () => {
  const lines: string[] = [];
  const note = (level: string) => (_context: object, message: string) =>
    void lines.push(`${level} ${/metrics of (\w+)/.exec(message)?.[1]}`);
  const missing = createMissingSamples({ debug: note('debug'), warn: note('warn') });
  const sample = (what: string, query: string) => missing.orNone(what, database.client.rows<[string]>({ query }));
  const [unknown, forbidden, away] = [
    'SELECT nothing',
    'SELECT * FROM system.users',
    'SELECT 1 FROM no_such_table',
  ] as const;

  expect(await sample('disks', unknown)).toBe(undefined);
  await sample('disks', unknown);
  await sample('parts', unknown);
  expect(lines).toEqual(['warn disks', 'warn parts']);
  await sample('disks', forbidden);
  await sample('disks', away);
  await sample('disks', forbidden);
  expect(lines.slice(2)).toEqual(['warn disks', 'debug disks']);
  expect(await sample('disks', "SELECT '1'")).toEqual([['1']]);
  await sample('disks', forbidden);
  expect(lines.slice(4)).toEqual(['warn disks']);
});
