import { ANALYTICS_EVENTS } from '@waymark/contract';
import { createTestDatabase, type TestDatabase } from '@waymark/test-kit';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { timeseriesOf } from '../../src/index.js';
import { worlds } from '../arbitraries.js';
import { OWN_PROGRAM, queryOf } from '../wish.js';
import { NOW, programId, store, workspaceId } from '../world.js';
import { ages, filters, zones } from './analytics-arbitraries.js';
import { groupsOf } from './run-analytics.js';
import { bucketsIn, labelled, type TimeseriesWish } from './timeline-oracle.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const wishes: fc.Arbitrary<TimeseriesWish> = fc
  .record({ event: fc.constantFrom(...ANALYTICS_EVENTS), filters, zone: zones, age: ages })
  .map(({ event, filters: { range, ...others }, zone, age }) => ({
    event,
    filters: { ...others, range: range.type === 'times' ? range : { ...range, zone } },
    zone,
    createdAtMs: NOW - age,
  }));

test('a time series has every bucket of the zone once, in order, with the numbers of its events', async () => {
  let counted = 0;
  const wanted = fc.array(fc.tuple(wishes, fc.boolean()), { minLength: 20, maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(worlds, wanted, async (world, requests) => {
      await store(database, world);
      const scope = { workspaceId: workspaceId(world.workspace), programId: programId(OWN_PROGRAM) };
      for (const [wish, isBusy] of requests) {
        const expected = bucketsIn(world, wish);
        if (expected.some(({ numbers }) => numbers.clicks > 0 || numbers.leads > 0 || numbers.sales > 0)) counted += 1;
        const query = { ...queryOf(wish.filters), event: wish.event, groupBy: 'timeseries', timezone: wish.zone };
        const facts = { createdAtMs: wish.createdAtMs, ...(isBusy ? { events: 1e9 } : {}) };
        const { request, groups } = await groupsOf(database, query, scope, facts);
        const rows = timeseriesOf(request.timeline!, groups);
        expect(
          labelled(
            rows,
            expected.map(({ label }) => label),
          ),
          JSON.stringify({ ...query, created: new Date(wish.createdAtMs) }),
        ).toEqual(expected);
      }
    }),
    { numRuns: 10, endOnFailure: true },
  );
  expect(counted).toBeGreaterThan(25);
}, 240_000);
