import { createTrackedCache } from '@waymark/cache';
import type { AffectedTotals } from '../redis/catalog-changes.js';

/** TTL of totals, in case the message is lost by which an insert evicts them. */
const TTL_MS = 10_000;
const ENTRIES_MAX = 50_000;

/** Reads the totals of links or customers of a workspace. Those without events are absent. */
export type ReadTotals<Totals> = (workspaceId: string, ids: readonly string[]) => Promise<ReadonlyMap<string, Totals>>;

type ReadOne<Totals> = (workspaceId: string, id: string) => Promise<Totals | undefined>;

/** Creates a function that reads the totals of many ids by calls of `readOne`, which must batch concurrent reads. */
export function readMany<Totals>(readOne: ReadOne<Totals>): ReadTotals<Totals> {
  return async (workspaceId, ids) => {
    const distinct = [...new Set(ids)];
    const values = await Promise.all(distinct.map((id) => readOne(workspaceId, id)));
    const found = new Map<string, Totals>();
    for (const [index, id] of distinct.entries()) {
      const totals = values[index];
      if (totals !== undefined) found.set(id, totals);
    }
    return found;
  };
}

/** The totals that are cached in this process. */
export interface TotalsCache<Totals> {
  readonly read: ReadTotals<Totals>;
  onChange(affected: readonly AffectedTotals[]): void;
  onGap(): void;
}

/** Dependencies of {@link createTotalsCache}. */
export interface TotalsCacheDeps<Totals> {
  /** Reads the totals of one link or customer; concurrent calls share a query. */
  readonly readOne: ReadOne<Totals>;
  /** Whether this process receives the evictions of others; while it does not, nothing is cached. */
  readonly isSubscribed: () => boolean;
  readonly now: () => number;
}

/** Caches totals until an insert changes them, and also that a link or customer has none. */
export function createTotalsCache<Totals>({
  readOne,
  isSubscribed,
  now,
}: TotalsCacheDeps<Totals>): TotalsCache<Totals> {
  const cache = createTrackedCache<Totals | undefined>({
    bound: { entriesMax: ENTRIES_MAX },
    ttlMs: TTL_MS,
    isUsable: isSubscribed,
    now,
  });

  return {
    read: readMany((workspaceId, id) => cache.load(`${workspaceId}/${id}`, () => readOne(workspaceId, id))),

    onChange(affected) {
      for (const { workspaceId, ids } of affected) {
        for (const id of ids) cache.evict(`${workspaceId}/${id}`);
      }
    },

    onGap: cache.clear,
  };
}
