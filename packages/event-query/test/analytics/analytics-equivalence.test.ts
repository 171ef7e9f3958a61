import { createTestDatabase, type TestDatabase } from '@waymark/test-kit';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { countOf, removedLinksFact } from '../../src/index.js';
import { worlds } from '../arbitraries.js';
import { OWN_PROGRAM, queryOf } from '../wish.js';
import { programId, removedLinksOf, store, type World, workspaceId } from '../world.js';
import { analyticsWishes } from './analytics-arbitraries.js';
import { storeEntities } from './entities.js';
import { groupsIn } from './oracle.js';
import { groupsOf } from './run-analytics.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

/** What the service may or may not know of the workspace; the answer never depends on it. */
const knowledge = fc.record({ removed: fc.constantFrom('unknown', 'too many', 'listed'), isBusy: fc.boolean() });

function factsOf(world: World, { removed, isBusy }: { readonly removed: string; readonly isBusy: boolean }) {
  const links = removedLinksOf(world);
  return {
    ...(removed === 'too many' ? { hasRemovedLinks: links.length > 0 } : {}),
    ...(removed === 'listed' ? removedLinksFact(links) : {}),
    ...(isBusy ? { events: 1e9 } : {}),
  };
}

test('a compiled answer has exactly the groups and numbers that adding up the same events one by one gives', async () => {
  let nonEmpty = 0;
  const wanted = fc.array(fc.tuple(analyticsWishes, knowledge), { minLength: 30, maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(worlds, wanted, async (world, requests) => {
      await store(database, world);
      await storeEntities(database, world);
      const scope = { workspaceId: workspaceId(world.workspace), programId: programId(OWN_PROGRAM) };
      for (const [wish, known] of requests) {
        const expected = groupsIn(world, wish);
        if (expected.length > 1) nonEmpty += 1;
        const query = { ...queryOf(wish.filters), event: wish.event, groupBy: wish.grouping };
        const { groups } = await groupsOf(database, query, scope, factsOf(world, known));
        const found = wish.grouping === 'count' ? [{ key: [], numbers: countOf(groups) }] : groups;
        expect(
          found.map(({ key, numbers }) => ({ key: key.map(String), numbers })),
          JSON.stringify(query),
        ).toEqual(expected.map(({ key, numbers }) => ({ key: key.map(String), numbers })));
      }
    }),
    { numRuns: 20, endOnFailure: true },
  );
  // Otherwise the test would compare nothing with nothing.
  expect(nonEmpty).toBeGreaterThan(60);
}, 240_000);
