import { createTestDatabase, type TestDatabase } from '@waymark/test-kit';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { wishes, worlds } from './arbitraries.js';
import { pageOf } from './run.js';
import { answerTo, OWN_PROGRAM, queryOf } from './wish.js';
import { programId, store, workspaceId } from './world.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

test('a compiled request returns exactly the events that a plain filter of the same events returns, in its order', async () => {
  let nonEmpty = 0;
  await fc.assert(
    fc.asyncProperty(worlds, fc.array(wishes, { minLength: 12, maxLength: 12 }), async (world, wanted) => {
      await store(database, world);
      const scope = { workspaceId: workspaceId(world.workspace), programId: programId(OWN_PROGRAM) };
      for (const wish of wanted) {
        const expected = answerTo(world, wish);
        if (expected.length > 0) nonEmpty += 1;
        // Half of the pages as if there were so many events that the links are asked for first.
        const { ids } = await pageOf(database, queryOf(wish), scope, wish.order === 'asc' ? {} : { events: 1e9 });
        expect(ids, JSON.stringify(queryOf(wish))).toEqual(expected);
      }
    }),
    { numRuns: 25, endOnFailure: true },
  );
  // Otherwise the test would compare nothing with nothing.
  expect(nonEmpty).toBeGreaterThan(30);
}, 120_000);
