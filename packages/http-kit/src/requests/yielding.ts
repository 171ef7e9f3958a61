import { setImmediate as immediate } from 'node:timers/promises';

/** How long the work on one list keeps all other requests of the process waiting, in milliseconds: redirects are among them. */
const YIELD_INTERVAL_MS = 5;

/** Calls `work` with each item, in order. Yields to the event loop every five milliseconds, so that other requests run in between. */
export async function forEachYielding<Item>(items: Iterable<Item>, work: (item: Item) => void): Promise<void> {
  let endMs = performance.now() + YIELD_INTERVAL_MS;
  for (const item of items) {
    if (performance.now() > endMs) {
      await immediate();
      endMs = performance.now() + YIELD_INTERVAL_MS;
    }
    work(item);
  }
}

/** What `work` returns for each item, in their order; see {@link forEachYielding}. */
export async function mapYielding<Item, Result>(
  items: Iterable<Item>,
  work: (item: Item) => Result,
): Promise<Result[]> {
  const results: Result[] = [];
  await forEachYielding(items, (item) => {
    results.push(work(item));
  });
  return results;
}
