import { createTrackedCache, type TrackedCache } from '@waymark/cache';
import { type CatalogSubscriber, LINKS_TABLE } from '@waymark/catalog';
import type { EventKind } from '@waymark/contract';
import type { PlannerStats } from '@waymark/event-query';
import { createPageEdges, type PageEdges } from './events/page-edges.js';
import { createLinkSets, type LinkSets } from './link-sets.js';

const ENTRIES_MAX = 10_000;
/** A fallback: a removal evicts them, but its message may be lost. */
const REMOVED_TTL_MS = 1000;
/** The number decides between two ways to the same answer: an old one will do. */
const EVENTS_TTL_MS = 600_000;

type RemovedLinks = Pick<PlannerStats, 'hasRemovedLinks' | 'removedLinks'>;

/** A cache whose values are read by the request that needs them: if its client goes, nobody else waits for the read. */
type RequestCache<Value> = Pick<TrackedCache<Value>, 'get' | 'refresh'>;

/** Caches what plans of a workspace's requests depend on. Subscribes to the catalog's changes. */
export interface PlanCache extends CatalogSubscriber {
  /** By workspace, which links with events it has removed: once they are too many to be listed, they always are. */
  readonly removedLinks: RequestCache<RemovedLinks>;
  /** How many events there are, by workspace and kind, and how many some links of a workspace have. */
  readonly eventCounts: RequestCache<number>;
  readonly linkSets: LinkSets;
  readonly pageEdges: PageEdges;
}

/** The key of one kind of a workspace's events. */
export function kindKey(workspaceId: string, kind: EventKind): string {
  return `${workspaceId}/${kind}`;
}

/** @param isSubscribed whether the catalog's changes are received; until then only counts of events are cached */
export function createPlanCache(now: () => number, isSubscribed: () => boolean): PlanCache {
  const bound = { entriesMax: ENTRIES_MAX };
  const removedLinks = createTrackedCache<RemovedLinks>({
    bound,
    ttlMs: (known) => (known.removedLinks === undefined ? Number.POSITIVE_INFINITY : REMOVED_TTL_MS),
    isUsable: isSubscribed,
    now,
  });
  const linkSets = createLinkSets({ isSubscribed, now });
  return {
    removedLinks,
    eventCounts: createTrackedCache({ bound, ttlMs: EVENTS_TTL_MS, now }),
    linkSets,
    pageEdges: createPageEdges(),
    onChange(change) {
      linkSets.onChange(change);
      for (const { table, workspaceId, isRemoved } of change.records) {
        if (isRemoved && table === LINKS_TABLE) removedLinks.evict(workspaceId);
      }
    },
    onGap() {
      linkSets.onGap();
      removedLinks.clear();
    },
  };
}
