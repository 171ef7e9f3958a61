import { createHash } from 'node:crypto';
import { createTrackedCache } from '@waymark/cache';
import { type CatalogSubscriber, FOLDERS_TABLE, LINKS_TABLE, PARTNERS_TABLE } from '@waymark/catalog';
import type { CompiledQuery, PlannerStats } from '@waymark/event-query';

/** How long a set is cached at most, in case an invalidation is lost. */
const TTL_MS = 10_000;
/** Links in all sets together; they take about 20 MB. */
const LINKS_MAX = 500_000;
const WORKSPACES_MAX = 10_000;
/** The tables that filters on links read. */
const TABLES: ReadonlySet<string> = new Set([LINKS_TABLE, PARTNERS_TABLE, FOLDERS_TABLE]);

type LinkSet = Pick<PlannerStats, 'allowedLinks'>;

/** Cached instead of a set that was requested once and has not been read yet. */
const NEEDED = 'needed';

export interface LinkSetsDeps {
  /** Whether changes are received; until then nothing is cached. */
  readonly isSubscribed: () => boolean;
  readonly now: () => number;
}

/** How to read a set. */
export interface LinkSetRead {
  /** Queries the database. */
  readonly read: () => Promise<LinkSet>;
  /** Whether the set is read at its first request already, not at the second. */
  readonly isEager: boolean;
}

/** Caches the links that match a filter, until a link, partner or folder of the workspace changes. */
export interface LinkSets extends CatalogSubscriber {
  /**
   * Returns the links that a query selects. Reading them pays off only when the set is used several times. Therefore, unless `isEager`,
   * the first request gets `{}`, that is no statistics, and the second one reads the links.
   */
  find(workspaceId: string, query: CompiledQuery, read: LinkSetRead): Promise<LinkSet>;
}

/** A hash of a query and its parameters, as a cache key. */
export function queryKey({ sql, params }: CompiledQuery): string {
  const text = JSON.stringify([sql, params], (_name, value) => (typeof value === 'bigint' ? String(value) : value));
  return createHash('sha1').update(text).digest('base64');
}

/** Creates an empty cache, for one process. */
export function createLinkSets({ isSubscribed, now }: LinkSetsDeps): LinkSets {
  /** A number for each workspace, which is part of the cache keys of its sets. Evicting it evicts them all: the next number is another. */
  const versions = createTrackedCache<number>({
    bound: { entriesMax: WORKSPACES_MAX },
    ttlMs: Number.POSITIVE_INFINITY,
    now,
  });
  let lastVersion = 0;
  const sets = createTrackedCache<LinkSet | typeof NEEDED>({
    bound: { sizeMax: LINKS_MAX, sizeOf: (set) => 1 + (set === NEEDED ? 0 : (set.allowedLinks?.length ?? 0)) },
    ttlMs: TTL_MS,
    isUsable: isSubscribed,
    now,
  });

  function versionOf(workspaceId: string): number {
    const current = versions.get(workspaceId);
    if (current !== undefined) return current;
    lastVersion += 1;
    versions.set(workspaceId, lastVersion);
    return lastVersion;
  }

  return {
    async find(workspaceId, query, { read, isEager }) {
      if (!isSubscribed()) return isEager ? read() : {};
      const key = `${versionOf(workspaceId)}/${queryKey(query)}`;
      const cached = sets.get(key);
      if (cached !== undefined && cached !== NEEDED) return cached;
      if (cached === undefined && !isEager) {
        sets.set(key, NEEDED);
        return {};
      }
      const set = await sets.refresh(key, read);
      return set === NEEDED ? {} : set;
    },

    onChange({ records }) {
      for (const { table, workspaceId } of records) if (TABLES.has(table)) versions.evict(workspaceId);
    },

    onGap: versions.clear,
  };
}
