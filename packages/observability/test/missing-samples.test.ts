import { createTestDatabase, type TestDatabase } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createMissingSamples } from '../src/metrics/missing-samples.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

it('warns once of refusals with the same code within an hour, for each kind of metrics, and of nothing else', async () => {
  const lines: string[] = [];
  let aheadMs = 0;
  const note = (level: string) => (_context: object, message: string) => {
    lines.push(
      `${level} ${/metrics of (\w+)/.exec(message)?.[1]}${message.includes('rights') ? ' for its rights' : ''}`,
    );
  };
  const missing = createMissingSamples({ debug: note('debug'), warn: note('warn') }, () => Date.now() + aheadMs);
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
  expect(lines.slice(2)).toEqual(['warn disks for its rights', 'debug disks']);
  expect(await sample('disks', "SELECT '1'")).toEqual([['1']]);
  aheadMs = 50 * 60_000;
  await sample('disks', forbidden);
  aheadMs = 100 * 60_000;
  await sample('disks', forbidden);
  expect(lines.slice(4)).toEqual([]);
  aheadMs = 200 * 60_000;
  await sample('disks', forbidden);
  expect(lines.slice(4)).toHaveLength(1);
});
