import { ANALYTICS_EVENTS } from '@waymark/contract';
import { createTestDatabase, rounds, type TestDatabase } from '@waymark/test-kit';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { timeseriesOf } from '../../src/index.js';
import { worlds } from '../arbitraries.js';
import { OWN_PROGRAM, queryOf } from '../request-spec.js';
import { NOW, programId, store, workspaceId } from '../world.js';
import { ages, filters, zones } from './analytics-arbitraries.js';
import { groupsOf } from './run-analytics.js';
import { bucketsIn, labelled, type TimeseriesSpec } from './timeline-oracle.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const requestSpecs: fc.Arbitrary<TimeseriesSpec> = fc
  .record({ event: fc.constantFrom(...ANALYTICS_EVENTS), filters, zone: zones, age: ages })
  .map(({ event, filters: { range, ...others }, zone, age }) => ({
    event,
    filters: { ...others, range: range.type === 'times' ? range : { ...range, zone } },
    zone,
    sinceMs: NOW - age,
  }));

test('a time series has each bucket of the zone once, in order, with the numbers of its events', async () => {
  let counted = 0;
  const cases = fc.array(fc.tuple(requestSpecs, fc.boolean()), { minLength: 20, maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(worlds, cases, async (world, requests) => {
      await store(database, world);
      const scope = { workspaceId: workspaceId(world.workspace), programId: programId(OWN_PROGRAM) };
      for (const [spec, isBusy] of requests) {
        const expected = bucketsIn(world, spec);
        if (expected.some(({ numbers }) => numbers.clicks > 0 || numbers.leads > 0 || numbers.sales > 0)) counted += 1;
        const query = { ...queryOf(spec.filters), event: spec.event, groupBy: 'timeseries', timezone: spec.zone };
        const stats = { sinceMs: spec.sinceMs, ...(isBusy ? { rangeEventsMax: 1e9 } : { kindEvents: 0 }) };
        const { request, groups } = await groupsOf(database, query, scope, stats);
        const rows = timeseriesOf(request.timeline!, groups);
        expect(
          labelled(
            rows,
            expected.map(({ label }) => label),
          ),
          JSON.stringify({ ...query, created: new Date(spec.sinceMs) }),
        ).toEqual(expected);
      }
    }),
    { numRuns: rounds(10, 4), endOnFailure: true },
  );
  expect(counted).toBeGreaterThan(rounds(25, 4));
}, 240_000);
