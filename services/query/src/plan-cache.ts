import { createTrackedCache, type TrackedCache } from '@waymark/cache';
import { type CatalogSubscriber, LINKS_TABLE } from '@waymark/catalog';
import type { EventKind } from '@waymark/contract';
import type { PlannerStats } from '@waymark/event-query';
import { createFirstPageHints, type FirstPageHints } from './events/first-page-hints.js';
import { createLinkSets, type LinkSets } from './link-sets.js';

const ENTRIES_MAX = 10_000;
/** So long after its removal a link may get events that were queued before; later ones wait in an outage. */
const LATE_EVENTS_MS = 600_000;
/** Fallback TTL, in case an invalidation is lost. */
const REMOVED_TTL_MS = 10_000;
/** TTL in workspaces with so many removed links that a new event of one of them, which was queued before its removal, is not detected. */
const MANY_REMOVED_TTL_MS = 1000;
/** Long, because an outdated number of events affects only the speed of a query, never its result. */
const EVENTS_TTL_MS = 600_000;

export interface RemovedLinks extends Pick<PlannerStats, 'hasRemovedLinks' | 'removedLinks'> {
  /** Public ids of all removed links, with and without events; undefined = too many. */
  readonly allRemovedIds?: ReadonlySet<string> | undefined;
  /** Too many to list only with those that were removed lately. */
  readonly isPassing?: boolean;
}

function removedTtlMs({ removedLinks, allRemovedIds, isPassing = false }: RemovedLinks): number {
  if (removedLinks === undefined) return isPassing ? MANY_REMOVED_TTL_MS : Number.POSITIVE_INFINITY;
  return allRemovedIds === undefined ? MANY_REMOVED_TTL_MS : REMOVED_TTL_MS;
}

/** No single-flight: each request reads for itself, so that its client can disconnect without failing other requests. */
type RequestCache<Value> = Pick<TrackedCache<Value>, 'get' | 'refresh'>;

/** Caches planner statistics. Subscribes to the catalog's changes. */
export interface PlanCache extends CatalogSubscriber {
  /**
   * Removed links with events, by workspace, until a link is removed or a removed link gets an event. "Too many to list" never
   * expires, because removed links do not come back, unless it is `isPassing`.
   */
  readonly removedLinks: RequestCache<RemovedLinks>;
  /** Public ids of links that were removed lately: an insert that is under way may be about to give them events. */
  lateRemoved(workspaceId: string): readonly string[];
  /** Numbers of events: by workspace and kind, and by sets of links. */
  readonly eventCounts: RequestCache<number>;
  readonly linkSets: LinkSets;
  readonly firstPageHints: FirstPageHints;
}

/** Cache key of one event kind of a workspace. */
export function kindKey(workspaceId: string, kind: EventKind): string {
  return `${workspaceId}/${kind}`;
}

/** @param isSubscribed whether invalidations are received; until then only numbers of events are cached */
export function createPlanCache(now: () => number, isSubscribed: () => boolean): PlanCache {
  const bound = { entriesMax: ENTRIES_MAX };
  const removedLinks = createTrackedCache<RemovedLinks>({
    bound,
    ttlMs: removedTtlMs,
    isUsable: isSubscribed,
    now,
  });
  const linkSets = createLinkSets({ isSubscribed, now });
  /** Earliest first. */
  let removals: { readonly workspaceId: string; readonly id: string; readonly atMs: number }[] = [];
  return {
    removedLinks,
    lateRemoved(workspaceId) {
      removals = removals.slice(-ENTRIES_MAX).filter(({ atMs }) => now() - atMs < LATE_EVENTS_MS);
      return removals.flatMap((removal) => (removal.workspaceId === workspaceId ? removal.id : []));
    },
    eventCounts: createTrackedCache({ bound, ttlMs: EVENTS_TTL_MS, now }),
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
        // Without a value, a read under way may have been too early to see the events.
        if (cached === undefined || ids.some((id) => cached.allRemovedIds?.has(id))) removedLinks.evict(workspaceId);
      }
    },
    onGap() {
      linkSets.onGap();
      removedLinks.clear();
    },
  };
}
