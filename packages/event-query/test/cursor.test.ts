import { eventsQuerySchema } from '@waymark/contract';
import { aClick, createTestDatabase, insertClicks, type TestDatabase } from '@waymark/test-kit';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { compile, openCursor, writeCursor } from '../src/index.js';
import { wishes, worlds } from './arbitraries.js';
import { pageOf } from './run.js';
import { answerTo, OWN_PROGRAM, queryOf, type Wish } from './wish.js';
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

/** Every page from the first to the one that is not full. Between pages time passes, and something happens. */
async function walk(world: World, wish: Wish, meanwhile: (nowMs: number, page: number) => Promise<void>) {
  const { page: _page, ...query } = queryOf(wish);
  const owner = workspaceId(world.workspace);
  const scope = { workspaceId: owner, programId: programId(OWN_PROGRAM) };
  const walked: string[] = [];
  let cursor: string | undefined;
  for (let page = 0; ; page++) {
    const nowMs = NOW + page * 7 * HOUR_MS;
    const { ids } = await pageOf(database, cursor === undefined ? query : { ...query, cursor }, scope, { nowMs });
    walked.push(...ids);
    const id = ids.at(-1);
    if (id === undefined || ids.length < wish.limit) return walked;
    // Of an event that came in between the test knows only the id, and that holds its time.
    const timeMs = eventsOf(world, wish.event).find((event) => event.id === id)?.timeMs ?? timeIn(id);
    const first = cursor === undefined ? nowMs : NOW;
    cursor = writeCursor({ nowMs: first, after: { timeMs, id } }, listOf(query, owner));
    await meanwhile(nowMs, page);
  }
}

const newcomers = new Map<string, number>();
function timeIn(id: string): number {
  const timeMs = newcomers.get(id);
  if (timeMs === undefined) throw new Error(`an event that nobody stored: ${id}`);
  return timeMs;
}

/** A click that has just happened. */
async function arrive(world: World, nowMs: number, number: number): Promise<void> {
  const id = idOf(nowMs, 900 + number);
  newcomers.set(id, nowMs);
  const facts = { workspaceId: String(world.workspace), linkId: '1', clickId: id, timestampMs: nowMs };
  await insertClicks(database.client, [aClick(facts)]);
}

test('walking by cursor gives the whole list, each event once, though events arrive and days pass meanwhile', async () => {
  let pages = 0;
  const bigWorlds = worlds.filter(({ clicks }) => clicks.length >= 10);
  await fc.assert(
    fc.asyncProperty(bigWorlds, fc.array(wishes, { minLength: 8, maxLength: 8 }), async (world, wanted) => {
      await store(database, world);
      for (const [index, wish] of wanted.entries()) {
        // Of wishes for three things at once little is left to walk through.
        const range = { type: 'interval', interval: 'all', zone: 'UTC' } as const;
        const everything = { range, lists: {}, root: undefined, program: undefined, customer: undefined };
        const small = { ...wish, ...(index % 2 === 0 ? everything : {}), page: 1, limit: 3 };
        const expected = answerTo(world, { ...small, limit: 1000 });
        const walked = await walk(world, small, (nowMs, page) => {
          pages += 1;
          return arrive(world, nowMs + pages, page);
        });
        expect(new Set(walked).size, 'nothing twice').toBe(walked.length);
        expect(
          walked.filter((id) => !newcomers.has(id)),
          JSON.stringify(queryOf(small)),
        ).toEqual(expected);
      }
    }),
    { numRuns: 12, endOnFailure: true },
  );
  expect(pages).toBeGreaterThan(50);
}, 120_000);

describe('a cursor', () => {
  const query = { event: 'leads', interval: '7d', country: '-US,FR', sortOrder: 'desc' };
  const text = writeCursor({ nowMs: NOW, after: LAST }, listOf(query));

  test('tells where its page begins, and the present of its list', () => {
    expect(openCursor(listOf({ ...query, cursor: text }))).toEqual({ nowMs: NOW, after: LAST });
    expect(text).toMatch(/^[A-Za-z0-9_-]{50,60}$/);
  });

  test('goes with another page size, and with the page number that says nothing', () => {
    expect(openCursor(listOf({ ...query, limit: '7', page: '1', cursor: text }))).toBeDefined();
    expect(openCursor(listOf({ ...query, order: 'desc', sortBy: 'timestamp', cursor: text }))).toBeDefined();
  });

  test('goes with what is the default, said or not', () => {
    const said = { interval: '24h', timezone: 'UTC' };
    const plain = writeCursor({ nowMs: NOW, after: LAST }, listOf({ event: 'leads' }));
    expect(openCursor(listOf({ event: 'leads', ...said, cursor: plain }))).toBeDefined();
    const full = writeCursor({ nowMs: NOW, after: LAST }, listOf({ event: 'leads', ...said }));
    expect(openCursor(listOf({ event: 'leads', cursor: full }))).toBeDefined();
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
    expect(() => openCursor(listOf({ ...changed, cursor: text }))).toThrow(/^invalid_value: cursor: /);
  });

  test('is refused together with a page number', () => {
    const paged = listOf({ ...query, page: '2', cursor: text });
    expect(() => openCursor(paged)).toThrow(/^invalid_combination: cursor: /);
  });

  test('is refused by another workspace', () => {
    expect(() => openCursor(listOf({ ...query, cursor: text }, workspaceId(2)))).toThrow(/^invalid_value: cursor: /);
  });

  test('that was changed anywhere, or never was one, is refused', () => {
    const refused = (cursor: string) => {
      expect(() => openCursor(listOf({ ...query, cursor })), cursor).toThrow(/^invalid_value: cursor: /);
    };
    for (let position = 0; position < text.length; position++) {
      refused(text.slice(0, position) + (text[position] === 'A' ? 'B' : 'A') + text.slice(position + 1));
    }
    for (const garbage of ['x', '0', `${text}A`, `${text}=`, `${text} `, text.slice(1), "' OR 1=1 --", LAST.id]) {
      refused(garbage);
    }
    fc.assert(fc.property(fc.string({ minLength: 1, unit: 'binary', maxLength: 90 }), refused));
  });

  test('never brings text into the statement, whatever its maker sealed into it', () => {
    const sql = (after: typeof LAST) => {
      const list = listOf({ event: 'leads' });
      const cursor = writeCursor({ nowMs: NOW, after }, list);
      return compile({ query: { ...list.query, cursor }, scope: { workspaceId: OWNER, programId: null } }, NOW).sql;
    };
    const reference = sql(LAST);
    expect(sql({ timeMs: 0, id: 'zzzzzzzzzzzzzzzz' })).toBe(reference);
    expect(reference).not.toContain(LAST.id);
    // A seal is no secret, so a forger could get this far and no further.
    expect(() => sql({ timeMs: 0, id: "' OR 1=1 --     " })).toThrow(/^invalid_value: cursor: /);
    expect(() => sql({ timeMs: 2 ** 42, id: LAST.id })).toThrow(/^invalid_value: cursor: /);
  });
});
