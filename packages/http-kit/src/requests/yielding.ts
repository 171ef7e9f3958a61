import { setImmediate as nextTurn } from 'node:timers/promises';

/** How long the work on one list keeps all other requests of the process waiting, in milliseconds: redirects are among them. */
const TURN_MS = 5;

/** Calls `work` with each item, in order. Yields to the event loop every five milliseconds, so that other requests run in between. */
export async function forEachInTurns<Item>(items: Iterable<Item>, work: (item: Item) => void): Promise<void> {
  let endMs = performance.now() + TURN_MS;
  for (const item of items) {
    if (performance.now() > endMs) {
      await nextTurn();
      endMs = performance.now() + TURN_MS;
    }
    work(item);
  }
}

/** What `work` returns for each item, in their order; see {@link forEachInTurns}. */
export async function mapInTurns<Item, Result>(items: Iterable<Item>, work: (item: Item) => Result): Promise<Result[]> {
  const results: Result[] = [];
  await forEachInTurns(items, (item) => {
    results.push(work(item));
  });
  return results;
}
