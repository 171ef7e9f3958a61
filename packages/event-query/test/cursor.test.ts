import { eventsQuerySchema } from '@waymark/contract';
import { aClick, createTestDatabase, insertClicks, rounds, type TestDatabase } from '@waymark/test-kit';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { compile, formatCursor, parseCursor } from '../src/index.js';
import { requestSpecs, worlds } from './arbitraries.js';
import { expectedIds, NO_FILTER, OWN_PROGRAM, queryOf, type RequestSpec } from './request-spec.js';
import { pageOf } from './run.js';
import { eventsOf, idOf, NOW, programId, store, type World, workspaceId } from './world.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const HOUR_MS = 3_600_000;
const OWNER = workspaceId(1);
const LAST = { timeMs: NOW - 1000, id: idOf(NOW - 1000, 7) };

function listOf(query: Record<string, string>, owner = OWNER) {
  return { query: eventsQuerySchema.parse(query), workspaceId: owner };
}

/** Reads all pages, to the first that is not full. Between pages the clock advances and `meanwhile` runs. */
async function walk(world: World, spec: RequestSpec, meanwhile: (nowMs: number, page: number) => Promise<void>) {
  const { page: _page, ...query } = queryOf(spec);
  const owner = workspaceId(world.workspace);
  const scope = { workspaceId: owner, programId: programId(OWN_PROGRAM) };
  const walked: string[] = [];
  let cursor: string | undefined;
  for (let page = 0; ; page++) {
    const nowMs = NOW + page * 7 * HOUR_MS;
    const { ids } = await pageOf(database, cursor === undefined ? query : { ...query, cursor }, scope, { nowMs });
    walked.push(...ids);
    const id = ids.at(-1);
    if (id === undefined || ids.length < spec.limit) return walked;
    // An event that arrived during the walk is not in `world`; its time is in `arrivals`.
    const timeMs = eventsOf(world, spec.event).find((event) => event.id === id)?.timeMs ?? timeIn(id);
    const first = cursor === undefined ? nowMs : NOW;
    cursor = formatCursor({ nowMs: first, after: { timeMs, id } }, listOf(query, owner));
    await meanwhile(nowMs, page);
  }
}

const arrivals = new Map<string, number>();
function timeIn(id: string): number {
  const timeMs = arrivals.get(id);
  if (timeMs === undefined) throw new Error(`unknown event: ${id}`);
  return timeMs;
}

/** Inserts a click with the current time. */
async function arrive(world: World, nowMs: number, number: number): Promise<void> {
  const id = idOf(nowMs, 900 + number);
  arrivals.set(id, nowMs);
  const fields = { workspaceId: String(world.workspace), linkId: '1', clickId: id, timestampMs: nowMs };
  await insertClicks(database.client, [aClick(fields)]);
}

test('reading by cursor returns the whole list, each event once, even if events arrive and days pass meanwhile', async () => {
  let pages = 0;
  const bigWorlds = worlds.filter(({ clicks }) => clicks.length >= 10);
  await fc.assert(
    fc.asyncProperty(bigWorlds, fc.array(requestSpecs, { minLength: 8, maxLength: 8 }), async (world, specs) => {
      await store(database, world);
      for (const [index, spec] of specs.entries()) {
        // Requests with several filters match few events, so half of the requests have none.
        const range = { type: 'interval', interval: 'all', zone: 'UTC' } as const;
        const everything = { ...NO_FILTER, range };
        const small = { ...spec, ...(index % 2 === 0 ? everything : {}), page: 1, limit: 3 };
        const expected = expectedIds(world, { ...small, limit: 1000 });
        const walked = await walk(world, small, (nowMs, page) => {
          pages += 1;
          return arrive(world, nowMs + pages, page);
        });
        expect(new Set(walked).size, 'nothing twice').toBe(walked.length);
        expect(
          walked.filter((id) => !arrivals.has(id)),
          JSON.stringify(queryOf(small)),
        ).toEqual(expected);
      }
    }),
    { numRuns: rounds(12, 5), endOnFailure: true },
  );
  expect(pages).toBeGreaterThan(rounds(50, 10));
}, 120_000);

describe('a cursor', () => {
  const query = { event: 'leads', interval: '7d', country: '-US,FR', sortOrder: 'desc' };
  const text = formatCursor({ nowMs: NOW, after: LAST }, listOf(query));

  test('contains the position of its page and the time of the first page', () => {
    expect(parseCursor(listOf({ ...query, cursor: text }))).toEqual({ nowMs: NOW, after: LAST });
    expect(text).toMatch(/^[A-Za-z0-9_-]{50,60}$/);
  });

  test('is valid with another page size, and with page=1', () => {
    expect(parseCursor(listOf({ ...query, limit: '7', page: '1', cursor: text }))).toBeDefined();
    expect(parseCursor(listOf({ ...query, order: 'desc', sortBy: 'timestamp', cursor: text }))).toBeDefined();
  });

  test('is valid whether or not defaults are given explicitly', () => {
    const explicit = { interval: '24h', timezone: 'UTC' };
    const plain = formatCursor({ nowMs: NOW, after: LAST }, listOf({ event: 'leads' }));
    expect(parseCursor(listOf({ event: 'leads', ...explicit, cursor: plain }))).toBeDefined();
    const full = formatCursor({ nowMs: NOW, after: LAST }, listOf({ event: 'leads', ...explicit }));
    expect(parseCursor(listOf({ event: 'leads', cursor: full }))).toBeDefined();
  });

  test.each([
    ['another event kind', { event: 'sales' }],
    ['the default event kind', { event: undefined }],
    ['another order', { sortOrder: 'asc' }],
    ['another order by its old name', { order: 'asc' }],
    ['another range', { interval: '30d' }],
    ['a range by dates', { start: '2026-11-01' }],
    ['another zone', { timezone: 'Asia/Kolkata' }],
    ['another value of a filter', { country: '-US' }],
    ['one filter more', { city: 'Paris' }],
  ])('is refused by a list with %s', (_what, change) => {
    const changed = Object.fromEntries(Object.entries({ ...query, ...change }).filter(([, value]) => value));
    expect(() => parseCursor(listOf({ ...changed, cursor: text }))).toThrow(/^invalid_value: cursor: /);
  });

  test('is refused together with a page number', () => {
    const paged = listOf({ ...query, page: '2', cursor: text });
    expect(() => parseCursor(paged)).toThrow(/^invalid_combination: cursor: /);
  });

  test('is refused by another workspace', () => {
    expect(() => parseCursor(listOf({ ...query, cursor: text }, workspaceId(2)))).toThrow(/^invalid_value: cursor: /);
  });

  test('that was changed anywhere, or is not a cursor at all, is refused', () => {
    const refused = (cursor: string) => {
      expect(() => parseCursor(listOf({ ...query, cursor })), cursor).toThrow(/^invalid_value: cursor: /);
    };
    for (let position = 0; position < text.length; position++) {
      refused(text.slice(0, position) + (text[position] === 'A' ? 'B' : 'A') + text.slice(position + 1));
    }
    for (const garbage of ['x', '0', `${text}A`, `${text}=`, `${text} `, text.slice(1), "' OR 1=1 --", LAST.id]) {
      refused(garbage);
    }
    fc.assert(fc.property(fc.string({ minLength: 1, unit: 'binary', maxLength: 90 }), refused));
  });

  test('never becomes part of the SQL text, even with a valid checksum', () => {
    const sql = (after: typeof LAST) => {
      const list = listOf({ event: 'leads' });
      const cursor = formatCursor({ nowMs: NOW, after }, list);
      return compile({ query: { ...list.query, cursor }, scope: { workspaceId: OWNER, programId: null } }, NOW).sql;
    };
    const reference = sql(LAST);
    expect(sql({ timeMs: 0, id: 'zzzzzzzzzzzzzzzz' })).toBe(reference);
    expect(reference).not.toContain(LAST.id);
    // Anyone can compute the checksum, so the position must be validated as well.
    expect(() => sql({ timeMs: 0, id: "' OR 1=1 --     " })).toThrow(/^invalid_value: cursor: /);
    expect(() => sql({ timeMs: 2 ** 42, id: LAST.id })).toThrow(/^invalid_value: cursor: /);
  });
});
