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

test('a page whose start is looked for first has the same events as one that is counted off', async () => {
  const seen = { everything: 0, filtered: 0 };
  const bigWorlds = worlds.filter(({ clicks }) => clicks.length >= 10);
  const pages = fc.integer({ min: 1, max: 6 });
  await fc.assert(
    fc.asyncProperty(
      bigWorlds,
      fc.array(fc.tuple(wishes, pages), { minLength: 10, maxLength: 10 }),
      async (world, wanted) => {
        // The way over the quarters of an hour is open only where no link was removed.
        const links = world.links.map((link) => ({ ...link, isRemoved: link.isRemoved && world.workspace % 2 === 0 }));
        const tried = { ...world, links };
        await store(database, tried);
        const scope = { workspaceId: workspaceId(world.workspace), programId: programId(OWN_PROGRAM) };
        const facts = { isFar: true, hasRemovedLinks: links.some(({ isRemoved }) => isRemoved) };
        for (const [index, [wish, page]] of wanted.entries()) {
          const everything = {
            lists: {},
            root: undefined,
            saleType: undefined,
            program: undefined,
            customer: undefined,
          };
          const far = { ...wish, ...(index % 2 === 0 ? everything : {}), page, limit: 2 };
          const expected = answerTo(tried, far);
          if (expected.length > 0 && page > 1) seen[index % 2 === 0 ? 'everything' : 'filtered'] += 1;
          const { ids } = await pageOf(database, queryOf(far), scope, facts);
          expect(ids, JSON.stringify(queryOf(far))).toEqual(expected);
        }
      },
    ),
    { numRuns: 25, endOnFailure: true },
  );
  expect(seen.everything).toBeGreaterThan(20);
  expect(seen.filtered).toBeGreaterThan(5);
}, 120_000);
