import { LRUCache } from 'lru-cache';
import type { Counted } from '../redis/change-feed.js';

/** Every change is announced; this is for one of which its writer could not tell. */
const KEPT_MS = 10_000;
const ENTRIES_MAX = 50_000;

/** Reads the totals of links or customers of a workspace. Those without events are absent. */
export type ReadTotals<Totals> = (workspaceId: string, ids: readonly string[]) => Promise<ReadonlyMap<string, Totals>>;

interface Entry<Totals> {
  readonly totals: Totals | undefined;
  readonly untilMs: number;
}

export interface KnownTotals<Totals> {
  readonly read: ReadTotals<Totals>;
  changed(counted: readonly Counted[]): void;
  missed(): void;
}

export interface KnownTotalsParts<Totals> {
  readonly readTotals: ReadTotals<Totals>;
  /** Whether announcements arrive; until then nothing is remembered. */
  readonly isHearing: () => boolean;
  readonly now: () => number;
}

/**
 * Remembers totals until an event of theirs is announced. What is read while one is announced is not kept: it may be from
 * before.
 */
export function createKnownTotals<Totals>({
  readTotals,
  isHearing,
  now,
}: KnownTotalsParts<Totals>): KnownTotals<Totals> {
  const known = new LRUCache<string, Entry<Totals>>({ max: ENTRIES_MAX });
  /** The last read under way of each, unless something was announced of it since. */
  const reading = new Map<string, symbol>();

  async function readAndKeep(workspaceId: string, ids: readonly string[]): Promise<ReadonlyMap<string, Totals>> {
    const [read, untilMs] = [Symbol('read'), now() + KEPT_MS];
    const keys = new Map(ids.map((id) => [id, `${workspaceId}/${id}`]));
    for (const key of keys.values()) reading.set(key, read);
    try {
      const found = await readTotals(workspaceId, ids);
      for (const [id, key] of keys) if (reading.get(key) === read) known.set(key, { totals: found.get(id), untilMs });
      return found;
    } finally {
      for (const key of keys.values()) if (reading.get(key) === read) reading.delete(key);
    }
  }

  return {
    async read(workspaceId, ids) {
      if (!isHearing()) return readTotals(workspaceId, ids);
      const totals = new Map<string, Totals>();
      const unknown: string[] = [];
      for (const id of ids) {
        const entry = known.get(`${workspaceId}/${id}`);
        if (entry === undefined || entry.untilMs <= now()) unknown.push(id);
        else if (entry.totals !== undefined) totals.set(id, entry.totals);
      }
      if (unknown.length === 0) return totals;
      return new Map([...totals, ...(await readAndKeep(workspaceId, unknown))]);
    },

    changed(counted) {
      for (const { workspaceId, ids } of counted) {
        for (const id of ids) {
          known.delete(`${workspaceId}/${id}`);
          reading.delete(`${workspaceId}/${id}`);
        }
      }
    },

    missed() {
      known.clear();
      reading.clear();
    },
  };
}
