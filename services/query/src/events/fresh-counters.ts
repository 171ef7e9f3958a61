import { pollUntil } from '@waymark/cache';
import type { ValuesOf } from './prefetch.js';

/** Events younger than this may have been inserted while the page was being read. */
export const YOUNG_MS = 60_000;
/** How long to wait for the materialized views: an insert writes them shortly after the event table. */
const VIEWS_WRITTEN = { withinMs: 1000, everyMs: 20 };

/** The events of one link or customer on a page. */
export interface Shown {
  /** Number of events on the page. */
  readonly events: number;
  /** Time of the newest one: ISO 8601 in UTC with milliseconds, so that comparing texts compares times. */
  readonly newest: string;
}

/**
 * Groups the events of a page by link or customer.
 *
 * @param rows id of the link or customer, and time, of each event
 */
export function shownOf(rows: Iterable<readonly [id: string, timestamp: string]>): ReadonlyMap<string, Shown> {
  const shown = new Map<string, { events: number; newest: string }>();
  for (const [id, timestamp] of rows) {
    const entry = shown.get(id);
    if (entry === undefined) {
      shown.set(id, { events: 1, newest: timestamp });
      continue;
    }
    entry.events += 1;
    if (timestamp > entry.newest) entry.newest = timestamp;
  }
  return shown;
}

/** How to read the counters of links or of customers. */
export interface CounterReads<Value> {
  /** Reads the counters of the page, some of which may come from a cache or a prefetch. */
  readonly valuesOf: ValuesOf<Value>;
  /** Reads current counters from the database. */
  readonly read: (ids: readonly string[]) => Promise<ReadonlyMap<string, Value>>;
  /** Whether the counters include all events on the page. */
  readonly counts: (value: Value | undefined, shown: Shown) => boolean;
  readonly now: () => number;
}

/**
 * Reads the counters of the links or customers on a page, so that they include all events on the page. For young events the
 * counters are read after the rows. All counters are read again until the materialized views include the events of the page:
 * even an event with an old timestamp may have been inserted just now.
 */
export async function countersOf<Value>(
  { valuesOf, read, counts, now }: CounterReads<Value>,
  shown: ReadonlyMap<string, Shown>,
): Promise<ReadonlyMap<string, Value>> {
  const old = new Date(now() - YOUNG_MS).toISOString();
  const ids = [...shown.keys()];
  const young = ids.filter((id) => (shown.get(id)?.newest ?? '') > old);
  const values = new Map(await valuesOf(ids, new Set(young)));
  const isBehind = ([id, what]: readonly [string, Shown]) => !counts(values.get(id), what);
  let behind = [...shown].filter(isBehind);
  if (behind.length === 0) return values;
  await pollUntil(async () => {
    for (const [id, value] of await read(behind.map(([id]) => id))) values.set(id, value);
    behind = behind.filter(isBehind);
    return behind.length === 0;
  }, VIEWS_WRITTEN);
  return values;
}
