import { expect, test } from 'vitest';
import { createPlannerCache, kindKey } from '../src/planner-cache.js';

function aCache() {
  let nowMs = 0;
  const cache = createPlannerCache(
    () => nowMs,
    () => true,
  );
  return { cache, pass: (ms: number) => (nowMs += ms) };
}

const NONE = { hasRemovedLinks: false, removedLinks: [], allRemovedIds: new Set<string>() };

function removal(table: string, isRemoved: boolean) {
  const record = { table, workspaceId: 'ws', id: 'link_1', version: 2, isRemoved };
  return { names: [], records: [record], counted: [], isRecounted: false };
}

test.each([
  ['ten seconds', NONE, 10_000],
  ['a second when they are too many to list for now', { hasRemovedLinks: true, isTemporary: true }, 1000],
  ['a second when they are too many to watch', { hasRemovedLinks: true, removedLinks: [5n] }, 1000],
] as const)('removed links are cached for %s', async (_time, removed, ttlMs) => {
  const { cache, pass } = aCache();
  const read = async () => {
    pass(300);
    return removed;
  };
  await cache.removedLinks.refresh('ws', read);
  pass(ttlMs - 301);
  expect(cache.removedLinks.get('ws')).toBe(removed);
  pass(1);
  expect(cache.removedLinks.get('ws')).toBeUndefined();
});

test('removed links are read again when one of them gets an event, such as a click queued before its removal', async () => {
  const { cache } = aCache();
  const inserted = (...ids: string[]) => ({
    names: [],
    records: [],
    isRecounted: false,
    counted: [{ workspaceId: 'ws', ids }],
  });
  const removed = { hasRemovedLinks: false, removedLinks: [], allRemovedIds: new Set(['link_1', 'link_2']) };
  await cache.removedLinks.refresh('ws', async () => removed);
  cache.onChange(inserted('link_3', 'cus_1'));
  expect(cache.removedLinks.get('ws')).toBe(removed);
  cache.onChange(inserted('link_3', 'link_2'));
  expect(cache.removedLinks.get('ws')).toBeUndefined();

  let answer = (_removed: typeof removed) => {};
  const reading = cache.removedLinks.refresh('ws', () => new Promise<typeof removed>((resolve) => (answer = resolve)));
  cache.onChange(inserted('link_2'));
  answer(removed);
  await reading;
  expect(cache.removedLinks.get('ws')).toBeUndefined();
});

test('a removed link may get events for ten minutes', () => {
  const { cache, pass } = aCache();
  cache.onChange(removal('folders', true));
  cache.onChange(removal('links', false));
  expect(cache.recentlyRemoved('ws')).toEqual([]);
  cache.onChange(removal('links', true));
  pass(599_999);
  expect([cache.recentlyRemoved('ws'), cache.recentlyRemoved('other')]).toEqual([['link_1'], []]);
  pass(1);
  expect(cache.recentlyRemoved('ws')).toEqual([]);
});

test('the result that removed links are too many to list never expires', async () => {
  const { cache, pass } = aCache();
  await cache.removedLinks.refresh('ws', async () => ({ hasRemovedLinks: true }));
  pass(365 * 86_400_000);
  expect(cache.removedLinks.get('ws')).toEqual({ hasRemovedLinks: true });
});

test('the number of events is cached for ten minutes, by workspace and kind', async () => {
  const { cache, pass } = aCache();
  await cache.eventCounts.refresh(kindKey('ws', 'clicks'), async () => 5);
  expect(cache.eventCounts.get(kindKey('ws', 'leads'))).toBeUndefined();
  expect(cache.eventCounts.get(kindKey('other', 'clicks'))).toBeUndefined();
  pass(599_999);
  expect(cache.eventCounts.get(kindKey('ws', 'clicks'))).toBe(5);
  pass(1);
  expect(cache.eventCounts.get(kindKey('ws', 'clicks'))).toBeUndefined();
});

test('removed links are read again after a link of the workspace was removed', async () => {
  const { cache } = aCache();
  for (const workspaceId of ['ws', 'other']) await cache.removedLinks.refresh(workspaceId, async () => NONE);
  for (const change of [removal('links', false), removal('tags', true)]) cache.onChange(change);
  expect(cache.removedLinks.get('ws')).toBe(NONE);
  cache.onChange(removal('links', true));
  expect(cache.removedLinks.get('ws')).toBeUndefined();
  expect(cache.removedLinks.get('other')).toBe(NONE);
});

test('a read that began before a removal is not cached, and a gap in the changes clears the cache', async () => {
  const { cache } = aCache();
  let answer = (_links: typeof NONE) => {};
  const read = () => new Promise<typeof NONE>((resolve) => (answer = resolve));
  const reading = cache.removedLinks.refresh('ws', read);
  cache.onChange(removal('links', true));
  answer(NONE);
  await reading;
  expect(cache.removedLinks.get('ws')).toBeUndefined();
  await cache.removedLinks.refresh('ws', async () => NONE);
  cache.onGap();
  expect(cache.removedLinks.get('ws')).toBeUndefined();
});
