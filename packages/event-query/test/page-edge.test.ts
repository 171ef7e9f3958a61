import { eventsQuerySchema } from '@waymark/contract';
import { createTestDatabase, type TestDatabase } from '@waymark/test-kit';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BoundRequest, bind, edgeOf, listText, openCursor, parse, plan, print, untilEdge } from '../src/index.js';
import { wishes, worlds } from './arbitraries.js';
import { OWN_PROGRAM, queryOf, type Wish, type WishedRange } from './wish.js';
import { NOW, programId, store, workspaceId } from './world.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const NO_FILTER = {
  lists: {},
  root: undefined,
  saleType: undefined,
  metadata: undefined,
  program: undefined,
  customer: undefined,
};

function boundOf(query: Record<string, string>, workspace = workspaceId(1)): BoundRequest {
  const valid = eventsQuerySchema.parse(query);
  const cursor = openCursor({ query: valid, workspaceId: workspace });
  return bind(parse(valid, NOW, cursor), { workspaceId: workspace, programId: programId(OWN_PROGRAM) });
}

async function rowsOf(bound: BoundRequest): Promise<string[][]> {
  const { sql, params, settings } = print(plan(bound));
  return database.client.rows<string[]>({ query: sql, parameters: params, settings });
}

const times = fc.integer({ min: NOW - 45 * 86_400_000, max: NOW });

/** Two ranges, of which the later one begins no later in the order of the list. */
function rangesOf(order: Wish['order'], some: readonly number[]): [WishedRange, WishedRange] {
  const [a = 0, b = 0, c = 0, d = 0] = some.toSorted((one, other) => one - other);
  const [old, young] = [
    { type: 'times', startMs: a, endMs: c } as const,
    { type: 'times', startMs: b, endMs: d } as const,
  ];
  return order === 'asc' ? [young, old] : [old, young];
}

it('a full page until the edge of an earlier one is the page of the whole range', async () => {
  let compared = 0;
  const lists = fc.record({ wish: wishes, isFiltered: fc.boolean() }).map(({ wish, isFiltered }): Wish => {
    const { event, order, range } = wish;
    const first = { page: 1, limit: 2 };
    return isFiltered ? { ...wish, ...first, metadata: undefined } : { ...NO_FILTER, ...first, event, order, range };
  });
  const bounds = fc.array(times, { minLength: 4, maxLength: 4 });
  const asks = fc.array(fc.tuple(lists, bounds), { minLength: 10, maxLength: 10 });
  await fc.assert(
    fc.asyncProperty(worlds, asks, async (world, asked) => {
      await store(database, world);
      for (const [wish, some] of asked) {
        const [before, now] = rangesOf(wish.order, some).map((range) =>
          boundOf(queryOf({ ...wish, range }), workspaceId(world.workspace)),
        ) as [BoundRequest, BoundRequest];
        const last = before.isEmpty ? undefined : (await rowsOf(before))[before.page.limit - 1];
        if (last === undefined || now.isEmpty) continue;
        const near = untilEdge(now, edgeOf(before, Date.parse(last[1] ?? '')));
        if (near === undefined) continue;
        // Nothing was removed in between: looking there is never in vain.
        expect(await rowsOf(near)).toEqual(await rowsOf(now));
        compared += 1;
      }
    }),
    { numRuns: 25, endOnFailure: true },
  );
  // Otherwise the test would compare nothing with nothing.
  expect(compared).toBeGreaterThan(10);
}, 120_000);

describe('lists', () => {
  const list: Record<string, string> = {
    event: 'leads',
    country: 'FR',
    start: '2026-11-01',
    end: '2026-11-10',
    limit: '10',
  };
  const text = listText(boundOf(list));

  it.each<Record<string, string>>([{ start: '2025-01-01' }, { end: '2026-11-20' }, { timezone: 'Asia/Kolkata' }])(
    'are the same whatever their range: %j',
    (other) => {
      expect(text).toBeDefined();
      expect(listText(boundOf({ ...list, ...other }))).toBe(text);
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
  ])('are others with other parameters: %j', (other) => {
    expect(listText(boundOf({ ...list, ...other }))).not.toBe(text);
  });

  it('of another workspace are others', () => {
    expect(listText(boundOf(list, workspaceId(2)))).not.toBe(text);
  });

  it('have no text for pages other than the first', () => {
    expect(listText(boundOf({ ...list, page: '2' }))).toBeUndefined();
  });
});

describe('the edge of an earlier page', () => {
  const newest = boundOf({ start: '2026-11-01T00:00:00Z', end: '2026-11-10T00:00:00Z' });
  const oldest: BoundRequest = { ...newest, page: { ...newest.page, direction: 'ASC' } };
  const [fromMs, toMs] = [Date.parse('2026-11-01T00:00:00Z'), Date.parse('2026-11-10T00:00:00Z')];
  const DAY_MS = 86_400_000;

  it('bounds a list that goes on at its beginning', () => {
    const edge = edgeOf(newest, toMs - DAY_MS);
    expect(untilEdge({ ...newest, toMs: toMs + DAY_MS }, edge)).toMatchObject({
      fromMs: toMs - DAY_MS,
      toMs: toMs + DAY_MS,
    });
    const first = edgeOf(oldest, fromMs + DAY_MS);
    expect(untilEdge({ ...oldest, fromMs: fromMs - DAY_MS }, first)).toMatchObject({
      fromMs: fromMs - DAY_MS,
      toMs: fromMs + DAY_MS,
    });
  });

  it('is of no use to a list that begins later, nor to one that ends before it', () => {
    const edge = edgeOf(newest, toMs - DAY_MS);
    expect(untilEdge({ ...newest, toMs: toMs - 1 }, edge)).toBeUndefined();
    expect(untilEdge({ ...newest, fromMs: toMs - DAY_MS }, edge)).toBeUndefined();
    const first = edgeOf(oldest, fromMs + DAY_MS);
    expect(untilEdge({ ...oldest, fromMs: fromMs + 1 }, first)).toBeUndefined();
    expect(untilEdge({ ...oldest, toMs: fromMs + DAY_MS }, first)).toBeUndefined();
  });
});
