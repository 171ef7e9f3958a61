import { eventsQuerySchema, formatResourceId } from '@waymark/contract';
import { bind, type CompiledQuery, parse } from '@waymark/event-query';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { EventPageRow } from '../../src/events/event-text.js';
import { createFirstPageHints } from '../../src/events/first-page-hints.js';
import { type Reads, readPage } from '../../src/index.js';
import { type Answer, aWorkspace, NOW, startQuery, type TestQuery } from '../test-query.js';

// The hint for the first page of a list: a repeated request first tries the time range of the earlier page.

let nowMs = NOW;
let query: TestQuery;
beforeAll(async () => {
  query = await startQuery(() => nowMs);
});
afterAll(() => query.close());

const minutes = ({ body }: Answer) => body.map(({ timestamp }) => (NOW - Date.parse(timestamp)) / 60_000);

async function aList() {
  const workspace = await aWorkspace(query);
  const [link, other] = [await workspace.aLink({ key: 'a' }), await workspace.aLink({ key: 'b' })];
  const clicks = (from: typeof link, ages: number[]) =>
    workspace.store({ clicks: ages.map((age) => workspace.click(from, age)) });
  const page = async (parameters: Record<string, string> = {}) =>
    minutes(await workspace.events({ limit: '3', interval: 'all', ...parameters }));
  return { workspace, link, other, clicks, page };
}

it('has a hint only after a full first page', () => {
  const hints = createFirstPageHints();
  const parsed = parse(eventsQuerySchema.parse({ interval: 'all', limit: '2' }), NOW, undefined);
  const bound = bind(parsed, { workspaceId: formatResourceId('workspace', 1n), programId: null });
  const { narrowed, update } = hints.find(bound);
  expect(narrowed).toBeUndefined();
  const row = (age: number): EventPageRow => ['id', new Date(NOW - age).toISOString(), '1', '', ''];
  update([row(1)]);
  expect(hints.find(bound).narrowed).toBeUndefined();
  update([row(1), row(2)]);
  expect(hints.find(bound).narrowed).toEqual({ ...bound, fromMs: NOW - 2 });
  // Less than a page is left in the narrowed range: the hint is deleted.
  hints.find(bound).update([row(1)]);
  expect(hints.find(bound).narrowed).toBeUndefined();
});

it('of busy links is read in the order of time with a hint, too', async () => {
  const firstPageHints = createFirstPageHints();
  const linkId = [1n, 2n].map((number) => formatResourceId('link', number)).join(',');
  const parsed = parse(eventsQuerySchema.parse({ interval: 'all', limit: '1', linkId }), NOW, undefined);
  const bound = bind(parsed, { workspaceId: formatResourceId('workspace', 1n), programId: null });
  firstPageHints.find(bound).update([['id', new Date(NOW - 1).toISOString(), '1', '', '']]);
  const read: CompiledQuery[] = [];
  const reads = {
    eventsExpire: async () => false,
    firstPageHints,
    run: async (query: CompiledQuery) => {
      read.push(query);
      return [['id', new Date(NOW).toISOString(), '1', '', '']];
    },
    sum: async () => undefined,
    removedLinks: async () => ({}),
    allowedLinks: async () => ({}),
    knownRemovedLinks: () => ({}),
    linkEvents: async () => 1e9,
  } as unknown as Reads;
  expect(await readPage(reads, bound)).toHaveLength(1);
  expect(read).toMatchObject([{ settings: { optimize_use_projections: 0 } }]);
  expect(read[0]?.sql).toContain('timestamp >=');
});

it('has new events when it is requested again, wherever they are in the list', async () => {
  const { link, clicks, page } = await aList();
  await clicks(link, [10, 20, 30, 40]);
  expect(await page()).toEqual([10, 20, 30]);
  await clicks(link, [5, 15, 35]);
  expect(await page()).toEqual([5, 10, 15]);
  await clicks(link, [12, 60]);
  expect(await page()).toEqual([5, 10, 12]);
  expect(await page({ sortOrder: 'asc' })).toEqual([60, 40, 35]);
  await clicks(link, [38, 90]);
  expect(await page({ sortOrder: 'asc' })).toEqual([90, 60, 40]);
});

it('is filled from older events when a link was removed', async () => {
  const { workspace, link, other, clicks, page } = await aList();
  await clicks(link, [10, 30]);
  await clicks(other, [20, 40, 50, 60]);
  expect(await page()).toEqual([10, 20, 30]);
  await workspace.remove(link);
  expect(await page()).toEqual([20, 40, 50]);
  expect(await page()).toEqual([20, 40, 50]);
});

it('is correct for another range', async () => {
  const { link, clicks, page } = await aList();
  await clicks(link, [10, 20, 30, 40, 50, 60]);
  const at = (age: number) => new Date(NOW - age * 60_000).toISOString();
  expect(await page({ start: at(55), end: at(0) })).toEqual([10, 20, 30]);
  expect(await page({ start: at(55), end: at(15) })).toEqual([20, 30, 40]);
  expect(await page({ start: at(25), end: at(0) })).toEqual([10, 20]);
  expect(await page({ start: at(55), end: at(0), sortOrder: 'asc' })).toEqual([50, 40, 30]);
  expect(await page({ start: at(45), end: at(0), sortOrder: 'asc' })).toEqual([40, 30, 20]);
  expect(await page({ limit: '5' })).toEqual([10, 20, 30, 40, 50]);
});

it('moves with the clock for a relative range', async () => {
  const { link, clicks, page } = await aList();
  await clicks(link, [23 * 60 + 50, 23 * 60 + 55, 23 * 60 + 58, 1]);
  expect(await page({ interval: '24h' })).toEqual([1, 23 * 60 + 50, 23 * 60 + 55]);
  nowMs = NOW + 7 * 60_000;
  expect(await page({ interval: '24h' })).toEqual([1, 23 * 60 + 50]);
  nowMs = NOW;
});
