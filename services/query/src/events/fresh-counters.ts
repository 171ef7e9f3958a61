import { pollUntil } from '@waymark/cache';
import type { ValuesOf } from './read-ahead.js';

/** An event this young may have been stored while its page was read. */
const YOUNG_MS = 60_000;
/** The views that count an event are written after it, within one insert. */
const COUNTED = { withinMs: 1000, everyMs: 20 };

/** What a page shows of one link or customer. */
export interface Shown {
  /** Events of it on the page. */
  readonly events: number;
  /** When the newest of them was: ISO 8601 in UTC with milliseconds, so that texts compare as times do. */
  readonly newest: string;
}

/** By id. @param rows id and time of each event of the page */
export function shownOf(rows: Iterable<readonly [id: string, timestamp: string]>): ReadonlyMap<string, Shown> {
  const shown = new Map<string, { events: number; newest: string }>();
  for (const [id, timestamp] of rows) {
    const known = shown.get(id);
    if (known === undefined) {
      shown.set(id, { events: 1, newest: timestamp });
      continue;
    }
    known.events += 1;
    if (timestamp > known.newest) known.newest = timestamp;
  }
  return shown;
}

export interface CounterReads<Value> {
  readonly valuesOf: ValuesOf<Value>;
  /** Reads anew. */
  readonly read: (ids: readonly string[]) => Promise<ReadonlyMap<string, Value>>;
  /** Whether the counters can be those of all events that the page shows. */
  readonly counts: (value: Value | undefined, shown: Shown) => boolean;
  readonly now: () => number;
}

/**
 * The counters of what a page shows, its own events included: of young events they are read after the rows, and of all
 * again until the views have counted what the page shows. An old event may have been stored just now.
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
  }, COUNTED);
  return values;
}
