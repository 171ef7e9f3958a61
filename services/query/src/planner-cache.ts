import { createTrackedCache, type TrackedCache } from '@waymark/cache';
import { type CatalogSubscriber, LINKS_TABLE } from '@waymark/catalog';
import type { EventKind } from '@waymark/contract';
import type { PlannerStats } from '@waymark/event-query';
import { createFirstPageHints, type FirstPageHints } from './events/first-page-hints.js';
import { createLinkSets, type LinkSets } from './link-sets.js';

const ENTRIES_MAX = 10_000;
/** How long a removed link counts as recently removed: until then, events that were queued before its removal may still be stored. */
const RECENTLY_MS = 600_000;
/** How long removed links are cached at most, in case an invalidation is lost. */
const REMOVED_TTL_MS = 10_000;
/** TTL in workspaces with so many removed links that a new event of one of them, which was queued before its removal, is not detected. */
const MANY_REMOVED_TTL_MS = 1000;
/** Long, because an outdated number of events affects only the speed of a query, never its result. */
const EVENTS_TTL_MS = 600_000;
/** May be long: after another process has set a retention, ClickHouse deletes the first events hours later. */
const EXPIRY_TTL_MS = 600_000;

/** The removed links of a workspace. */
export interface RemovedLinks extends Pick<PlannerStats, 'hasRemovedLinks' | 'removedLinks'> {
  /** Public ids of all removed links, with and without events; undefined = too many to keep. */
  readonly allRemovedIds?: ReadonlySet<string> | undefined;
  /** Whether they are too many to list only because of those that were removed recently, and may be few again soon. */
  readonly isTemporary?: boolean;
}

function removedTtlMs({ removedLinks, allRemovedIds, isTemporary = false }: RemovedLinks): number {
  if (removedLinks === undefined) return isTemporary ? MANY_REMOVED_TTL_MS : Number.POSITIVE_INFINITY;
  return allRemovedIds === undefined ? MANY_REMOVED_TTL_MS : REMOVED_TTL_MS;
}

/** Each request reads for itself, so that a client that disconnects cancels no read of other requests. */
type RequestCache<Value> = Pick<TrackedCache<Value>, 'get' | 'refresh'>;

/** Caches planner statistics. Subscribes to the catalog's changes. */
export interface PlannerCache extends CatalogSubscriber {
  /**
   * The removed links by workspace, until another link is removed or a removed link gets an event. "Too many to list" is cached without
   * expiry unless it `isTemporary`, because links that were removed do not come back.
   */
  readonly removedLinks: RequestCache<RemovedLinks>;
  /** Public ids of links that were removed in the last ten minutes. Events that were queued before may be inserted at any moment. */
  recentlyRemoved(workspaceId: string): readonly string[];
  /** Numbers of events: of a workspace by kind ({@link kindKey}), and of sets of links. */
  readonly eventCounts: RequestCache<number>;
  /** Whether events of the installation expire, or have expired, under the key {@link EXPIRY_KEY}. */
  readonly eventExpiry: RequestCache<boolean>;
  readonly linkSets: LinkSets;
  readonly firstPageHints: FirstPageHints;
}

/** The only cache key of `eventExpiry`. */
export const EXPIRY_KEY = '';

/** Cache key of one event kind of a workspace. */
export function kindKey(workspaceId: string, kind: EventKind): string {
  return `${workspaceId}/${kind}`;
}

/** @param isSubscribed whether changes of the catalog are received; while they are not, only numbers of events and hints are cached */
export function createPlannerCache(now: () => number, isSubscribed: () => boolean): PlannerCache {
  const bound = { entriesMax: ENTRIES_MAX };
  const removedLinks = createTrackedCache<RemovedLinks>({
    bound,
    ttlMs: removedTtlMs,
    isUsable: isSubscribed,
    now,
  });
  const linkSets = createLinkSets({ isSubscribed, now });
  /** Links that were removed recently, in the order of their removal. */
  let removals: { readonly workspaceId: string; readonly id: string; readonly atMs: number }[] = [];
  return {
    removedLinks,
    recentlyRemoved(workspaceId) {
      removals = removals.slice(-ENTRIES_MAX).filter(({ atMs }) => now() - atMs < RECENTLY_MS);
      return removals.flatMap((removal) => (removal.workspaceId === workspaceId ? removal.id : []));
    },
    eventCounts: createTrackedCache({ bound, ttlMs: EVENTS_TTL_MS, now }),
    eventExpiry: createTrackedCache({
      bound,
      ttlMs: (doExpire) => (doExpire ? Number.POSITIVE_INFINITY : EXPIRY_TTL_MS),
      now,
    }),
    linkSets,
    firstPageHints: createFirstPageHints(),
    onChange(change) {
      linkSets.onChange(change);
      for (const { table, workspaceId, id, isRemoved } of change.records) {
        if (!isRemoved || table !== LINKS_TABLE) continue;
        removals.push({ workspaceId, id, atMs: now() });
        removedLinks.evict(workspaceId);
      }
      if (removals.length > 2 * ENTRIES_MAX) removals = removals.slice(-ENTRIES_MAX);
      for (const { workspaceId, ids } of change.counted) {
        const cached = removedLinks.get(workspaceId);
        // If nothing is cached, a read without these events may be running. Evicting the key keeps its result out of the cache.
        if (cached === undefined || ids.some((id) => cached.allRemovedIds?.has(id))) removedLinks.evict(workspaceId);
      }
    },
    onGap() {
      linkSets.onGap();
      removedLinks.clear();
    },
  };
}
