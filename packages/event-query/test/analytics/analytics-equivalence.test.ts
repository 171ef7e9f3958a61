import { createTestDatabase, rounds, type TestDatabase } from '@waymark/test-kit';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { countOf, removedLinksStats } from '../../src/index.js';
import { worlds } from '../arbitraries.js';
import { OWN_PROGRAM, queryOf } from '../request-spec.js';
import { programId, removedLinksOf, store, type World, workspaceId } from '../world.js';
import { analyticsSpecs } from './analytics-arbitraries.js';
import { storeEntities } from './entities.js';
import { groupsIn } from './oracle.js';
import { groupsOf } from './run-analytics.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

/** Which planner statistics are available; the result must not depend on it. */
const availableStats = fc.record({ removed: fc.constantFrom('unknown', 'too many', 'listed'), isBusy: fc.boolean() });

function statsOf(world: World, { removed, isBusy }: { readonly removed: string; readonly isBusy: boolean }) {
  const links = removedLinksOf(world);
  return {
    ...(removed === 'too many' ? { hasRemovedLinks: links.length > 0 } : {}),
    ...(removed === 'listed' ? removedLinksStats(links) : {}),
    ...(isBusy ? { rangeEventsMax: 1e9 } : { kindEvents: 0 }),
  };
}

test('a compiled request returns exactly the groups and numbers that adding up the events one by one gives', async () => {
  let nonEmpty = 0;
  const cases = fc.array(fc.tuple(analyticsSpecs, availableStats), { minLength: 30, maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(worlds, cases, async (world, requests) => {
      await store(database, world);
      await storeEntities(database, world);
      const scope = { workspaceId: workspaceId(world.workspace), programId: programId(OWN_PROGRAM) };
      for (const [spec, known] of requests) {
        const expected = groupsIn(world, spec);
        if (expected.length > 1) nonEmpty += 1;
        const query = { ...queryOf(spec.filters), event: spec.event, groupBy: spec.grouping };
        const { groups } = await groupsOf(database, query, scope, statsOf(world, known));
        const found = spec.grouping === 'count' ? [{ key: [], numbers: countOf(groups) }] : groups;
        expect(
          found.map(({ key, numbers }) => ({ key: key.map(String), numbers })),
          JSON.stringify(query),
        ).toEqual(expected.map(({ key, numbers }) => ({ key: key.map(String), numbers })));
      }
    }),
    { numRuns: rounds(20, 8), endOnFailure: true },
  );
  // Guards against a vacuous test.
  expect(nonEmpty).toBeGreaterThan(rounds(60, 8));
}, 240_000);
