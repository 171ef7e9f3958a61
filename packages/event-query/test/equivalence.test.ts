import { createTestDatabase, rounds, type TestDatabase } from '@waymark/test-kit';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { requestSpecs, worlds } from './arbitraries.js';
import { expectedIds, OWN_PROGRAM, queryOf } from './request-spec.js';
import { pageOf } from './run.js';
import { programId, store, workspaceId } from './world.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

/** Filters that have one value. */
const FILTERS = ['root', 'saleType', 'metadata', 'program', 'customer'] as const;

test('a compiled request returns exactly the events, in the same order, that filtering them one by one gives', async () => {
  let nonEmpty = 0;
  const given = { root: 0, saleType: 0, metadata: 0, program: 0, customer: 0 };
  const found = { ...given };
  await fc.assert(
    fc.asyncProperty(worlds, fc.array(requestSpecs, { minLength: 12, maxLength: 12 }), async (world, specs) => {
      await store(database, world);
      const scope = { workspaceId: workspaceId(world.workspace), programId: programId(OWN_PROGRAM) };
      for (const spec of specs) {
        const expected = expectedIds(world, spec);
        if (expected.length > 0) nonEmpty += 1;
        for (const filter of FILTERS.filter((name) => spec[name] !== undefined)) {
          given[filter] += 1;
          if (expected.length > 0) found[filter] += 1;
        }
        // Half of the pages run as if there were so many events that the planner lists the links first.
        const { ids } = await pageOf(database, queryOf(spec), scope, spec.order === 'asc' ? {} : { events: 1e9 });
        expect(ids, JSON.stringify(queryOf(spec))).toEqual(expected);
      }
    }),
    { numRuns: rounds(25, 10), endOnFailure: true },
  );
  // Guards against a vacuous test.
  expect(nonEmpty).toBeGreaterThan(rounds(30, 6));
  for (const filter of FILTERS) expect(found[filter], filter).toBeGreaterThanOrEqual(rounds(5, 0));
  for (const filter of FILTERS) expect(given[filter], filter).toBeGreaterThan(rounds(20, 5));
}, 120_000);
