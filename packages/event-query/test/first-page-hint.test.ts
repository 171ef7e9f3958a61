import { eventsQuerySchema } from '@waymark/contract';
import { createTestDatabase, rounds, type TestDatabase } from '@waymark/test-kit';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type BoundRequest,
  bind,
  hintOf,
  listKey,
  narrowToHint,
  parse,
  parseCursor,
  plan,
  printPage,
} from '../src/index.js';
import { requestSpecs, worlds } from './arbitraries.js';
import { NO_FILTER, OWN_PROGRAM, queryOf, type RangeSpec, type RequestSpec } from './request-spec.js';
import { NOW, programId, store, workspaceId } from './world.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

function boundOf(query: Record<string, string>, workspace = workspaceId(1)): BoundRequest {
  const valid = eventsQuerySchema.parse(query);
  const cursor = parseCursor({ query: valid, workspaceId: workspace });
  return bind(parse(valid, NOW, cursor), { workspaceId: workspace, programId: programId(OWN_PROGRAM) });
}

async function rowsOf(bound: BoundRequest): Promise<string[][]> {
  const { sql, params, settings } = printPage(plan(bound));
  return database.client.rows<string[]>({ query: sql, parameters: params, settings });
}

const times = fc.integer({ min: NOW - 45 * 86_400_000, max: NOW });

/** Two overlapping ranges. In the sort order of the list, the second one begins before the first or at the same place. */
function rangesOf(order: RequestSpec['order'], some: readonly number[]): [RangeSpec, RangeSpec] {
  const [a = 0, b = 0, c = 0, d = 0] = some.toSorted((one, other) => one - other);
  const [old, young] = [
    { type: 'times', startMs: a, endMs: c } as const,
    { type: 'times', startMs: b, endMs: d } as const,
  ];
  return order === 'asc' ? [young, old] : [old, young];
}

it('a full page from the narrowed range equals the page of the whole range', async () => {
  let compared = 0;
  const lists = fc.record({ spec: requestSpecs, isFiltered: fc.boolean() }).map(({ spec, isFiltered }): RequestSpec => {
    const { event, order, range } = spec;
    const first = { page: 1, limit: 2 };
    return isFiltered ? { ...spec, ...first, metadata: undefined } : { ...NO_FILTER, ...first, event, order, range };
  });
  const bounds = fc.array(times, { minLength: 4, maxLength: 4 });
  const requests = fc.array(fc.tuple(lists, bounds), { minLength: 10, maxLength: 10 });
  await fc.assert(
    fc.asyncProperty(worlds, requests, async (world, cases) => {
      await store(database, world);
      for (const [spec, some] of cases) {
        const [before, now] = rangesOf(spec.order, some).map((range) =>
          boundOf(queryOf({ ...spec, range }), workspaceId(world.workspace)),
        ) as [BoundRequest, BoundRequest];
        const last = before.isEmpty ? undefined : (await rowsOf(before))[before.page.limit - 1];
        if (last === undefined || now.isEmpty) continue;
        const near = narrowToHint(now, hintOf(before, Date.parse(last[1] ?? '')));
        if (near === undefined) continue;
        // Nothing was removed in between, so the narrowed page is always full.
        expect(await rowsOf(near)).toEqual(await rowsOf(now));
        compared += 1;
      }
    }),
    { numRuns: rounds(25, 10), endOnFailure: true },
  );
  // Guards against a vacuous test.
  expect(compared).toBeGreaterThan(rounds(10, 2));
}, 120_000);

describe('the key of a list', () => {
  const list: Record<string, string> = {
    event: 'leads',
    country: 'FR',
    start: '2026-11-01',
    end: '2026-11-10',
    limit: '10',
  };
  const key = listKey(boundOf(list));

  it.each<Record<string, string>>([{ start: '2025-01-01' }, { end: '2026-11-20' }, { timezone: 'Asia/Kolkata' }])(
    'does not depend on the time range: %j',
    (other) => {
      expect(key).toBeDefined();
      expect(listKey(boundOf({ ...list, ...other }))).toBe(key);
    },
  );

  it.each<Record<string, string>>([
    { event: 'sales' },
    { country: 'US' },
    { country: '-FR' },
    { tenantId: 'a' },
    { limit: '11' },
    { sortOrder: 'asc' },
    { query: "metadata['a']:'b'" },
  ])('differs for other parameters: %j', (other) => {
    expect(listKey(boundOf({ ...list, ...other }))).not.toBe(key);
  });

  it('differs for another workspace', () => {
    expect(listKey(boundOf(list, workspaceId(2)))).not.toBe(key);
  });

  it('is undefined for pages other than the first', () => {
    expect(listKey(boundOf({ ...list, page: '2' }))).toBeUndefined();
  });
});

describe('the hint of an earlier page', () => {
  const newest = boundOf({ start: '2026-11-01T00:00:00Z', end: '2026-11-10T00:00:00Z' });
  const oldest: BoundRequest = { ...newest, page: { ...newest.page, direction: 'ASC' } };
  const [fromMs, toMs] = [Date.parse('2026-11-01T00:00:00Z'), Date.parse('2026-11-10T00:00:00Z')];
  const DAY_MS = 86_400_000;

  it('narrows a range that was extended at its beginning', () => {
    const hint = hintOf(newest, toMs - DAY_MS);
    expect(narrowToHint({ ...newest, toMs: toMs + DAY_MS }, hint)).toMatchObject({
      fromMs: toMs - DAY_MS,
      toMs: toMs + DAY_MS,
    });
    const first = hintOf(oldest, fromMs + DAY_MS);
    expect(narrowToHint({ ...oldest, fromMs: fromMs - DAY_MS }, first)).toMatchObject({
      fromMs: fromMs - DAY_MS,
      toMs: fromMs + DAY_MS,
    });
  });

  it('does not apply to a range that begins later or ends before the hint', () => {
    const hint = hintOf(newest, toMs - DAY_MS);
    expect(narrowToHint({ ...newest, toMs: toMs - 1 }, hint)).toBeUndefined();
    expect(narrowToHint({ ...newest, fromMs: toMs - DAY_MS }, hint)).toBeUndefined();
    const first = hintOf(oldest, fromMs + DAY_MS);
    expect(narrowToHint({ ...oldest, fromMs: fromMs + 1 }, first)).toBeUndefined();
    expect(narrowToHint({ ...oldest, toMs: fromMs + DAY_MS }, first)).toBeUndefined();
  });
});
