import type { LinkRecord } from '@waymark/catalog';
import type { EventRow } from '@waymark/event-format';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { aWorkspace, NOW, startQuery, type TestQuery, type TestWorkspace } from '../test-query.js';

// Enough events, spread over a day, for pages with an offset of more than 30,000, which are read differently.
const CLICKS = 30_040;
const PER_MINUTE = 21.75;

let query: TestQuery;
let workspace: TestWorkspace;
let links: LinkRecord[];
let newestFirst: EventRow[];

beforeAll(async () => {
  query = await startQuery(() => NOW);
  workspace = await aWorkspace(query);
  links = await Promise.all(['a', 'b'].map((key) => workspace.aLink({ key })));
  const clicks = Array.from({ length: CLICKS }, (_, index) =>
    workspace.click(links[index % 1500 === 1499 ? 1 : 0]!, Math.floor(index / PER_MINUTE), {
      city: index < CLICKS - 30 ? 'Paris' : 'Lyon',
    }),
  );
  newestFirst = clicks.toSorted((a, b) => Number(b[1]) - Number(a[1]) || (String(a[2]) < String(b[2]) ? 1 : -1));
  await workspace.store({ clicks });
});
afterAll(() => query.close());

async function pageIds(parameters: Record<string, string>): Promise<unknown[]> {
  const { status, body } = await workspace.events(parameters);
  expect(status, JSON.stringify(body).slice(0, 200)).toBe(200);
  return body.map((item) => 'click_id' in item && item.click_id);
}

const idsOf = (rows: readonly EventRow[]) => rows.map((row) => row[2]);

test('a far page without filters has the right events, in both orders, and the page after the last is empty', async () => {
  expect(await pageIds({ page: '301', interval: 'all' })).toEqual(idsOf(newestFirst.slice(30_000)));
  expect(await pageIds({ page: '3005', limit: '10' })).toEqual([]);
  expect(await pageIds({ page: '3004', limit: '10' })).toEqual(idsOf(newestFirst.slice(30_030)));
  const oldestFirst = newestFirst.toReversed();
  expect(await pageIds({ page: '3002', limit: '10', sortOrder: 'asc' })).toEqual(
    idsOf(oldestFirst.slice(30_010, 30_020)),
  );
});

test('a far page with filters has the right events, and the page after the last is empty', async () => {
  const notLyon = newestFirst.filter((row) => row[7] !== 'Lyon');
  expect(await pageIds({ city: '-Lyon', page: '3001', limit: '10' })).toEqual(idsOf(notLyon.slice(30_000)));
  expect(await pageIds({ city: '-Lyon', page: '3002', limit: '10' })).toEqual([]);
  expect(await pageIds({ domain: workspace.host, page: '3002', limit: '10' })).toEqual(
    idsOf(newestFirst.slice(30_010, 30_020)),
  );
});

test('the last possible page is empty, filtered or not', async () => {
  const last = { page: '9007199254740991', limit: '1000' };
  expect(await pageIds(last)).toEqual([]);
  expect(await pageIds({ ...last, city: 'Lyon', sortOrder: 'asc' })).toEqual([]);
});

test('events of a removed link no longer count for the offset', async () => {
  await workspace.remove(links[1]!);
  const kept = newestFirst.filter((row) => row[3] === newestFirst[0]![3]);
  expect(kept.length).toBeLessThan(CLICKS);
  expect(await pageIds({ page: '3001', limit: '10', interval: 'all' })).toEqual(idsOf(kept.slice(30_000, 30_010)));
  expect(await pageIds({ page: '3003', limit: '10', interval: 'all' })).toEqual([]);
});
