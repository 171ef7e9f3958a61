import { createTestDatabase, rounds, type TestDatabase } from '@waymark/test-kit';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { removedLinksStats } from '../src/index.js';
import { requestSpecs, worlds } from './arbitraries.js';
import { expectedIds, NO_FILTER, OWN_PROGRAM, queryOf } from './request-spec.js';
import { pageOf } from './run.js';
import { programId, removedLinksOf, store, workspaceId } from './world.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

test('a page whose start is found first has the same events as a page read with OFFSET', async () => {
  const seen = { everything: 0, filtered: 0 };
  const bigWorlds = worlds.filter(({ clicks }) => clicks.length >= 10);
  const pages = fc.oneof({ weight: 4, arbitrary: fc.integer({ min: 2, max: 4 }) }, fc.integer({ min: 1, max: 6 }));
  await fc.assert(
    fc.asyncProperty(
      bigWorlds,
      fc.array(fc.tuple(requestSpecs, pages), { minLength: 10, maxLength: 10 }),
      async (world, cases) => {
        await store(database, world);
        const scope = { workspaceId: workspaceId(world.workspace), programId: programId(OWN_PROGRAM) };
        const removed = removedLinksOf(world);
        for (const [index, [spec, page]] of cases.entries()) {
          const far = { ...spec, ...(index % 2 === 0 ? NO_FILTER : {}), page, limit: 2 };
          const expected = expectedIds(world, far);
          // The rollup can only be used where the removed links are listed.
          const known = index % 4 < 2 ? removedLinksStats(removed) : { hasRemovedLinks: removed.length > 0 };
          const stats = { isFar: true, ...known };
          if (expected.length > 0 && page > 1) seen[index % 2 === 0 ? 'everything' : 'filtered'] += 1;
          const { ids } = await pageOf(database, queryOf(far), scope, stats);
          expect(ids, JSON.stringify(queryOf(far))).toEqual(expected);
        }
      },
    ),
    { numRuns: rounds(40, 15), endOnFailure: true },
  );
  expect(seen.everything).toBeGreaterThan(rounds(20, 6));
  expect(seen.filtered).toBeGreaterThan(rounds(5, 0));
}, 120_000);
