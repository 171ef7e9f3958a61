import { type CatalogWatcher, LINKS_TABLE } from '@waymark/catalog';
import type { EventKind } from '@waymark/contract';
import type { PlannerStats } from '@waymark/event-query';
import { LRUCache } from 'lru-cache';
import { createPageEdges, type PageEdges } from './events/page-edges.js';
import { createLinkSets, type LinkSets } from './link-sets.js';

const WORKSPACES_KEPT = 10_000;
/** Removals invalidate it; if an invalidation is lost, it is no older than that. */
const REMOVED_KEPT_MS = 1000;
/** The number decides between two ways to the same answer: an old one will do. */
const EVENTS_KEPT_MS = 600_000;

type RemovedLinks = Pick<PlannerStats, 'hasRemovedLinks' | 'removedLinks'>;

/** Caches what plans of a workspace's requests depend on. Subscribes to the catalog's changes. */
export interface WorkspaceMemory extends CatalogWatcher {
  /** Which links with events it has removed: once they are too many to be listed, they always are. */
  readonly removedLinks: Memory<RemovedLinks>;
  /** How many events it has, by workspace and kind, and how many some of its links have. */
  readonly eventsEver: Memory<number>;
  readonly linkSets: LinkSets;
  readonly pageEdges: PageEdges;
}

export interface Memory<Value> {
  /** @returns undefined when it is not known any more */
  get(key: string): Value | undefined;
  /**
   * To be called when the question is put to the database.
   *
   * @returns caches the answer, unless something was invalidated since
   */
  asked(key: string): (value: Value) => void;
}

/** The key of one kind of a workspace's events. */
export function kindKey(workspaceId: string, kind: EventKind): string {
  return `${workspaceId}/${kind}`;
}

interface Forgetful<Value> extends Memory<Value> {
  forget(key: string): void;
  forgetAll(): void;
}

/** @param keptMs how long a value is used */
function createMemory<Value>(now: () => number, keptMs: (value: Value) => number): Forgetful<Value> {
  const kept = new LRUCache<string, { readonly value: Value; readonly untilMs: number }>({ max: WORKSPACES_KEPT });
  let timesForgotten = 0;
  return {
    get(key) {
      const known = kept.get(key);
      return known !== undefined && now() < known.untilMs ? known.value : undefined;
    },
    asked(key) {
      const [askedMs, before] = [now(), timesForgotten];
      return (value) => {
        if (timesForgotten === before) kept.set(key, { value, untilMs: askedMs + keptMs(value) });
      };
    },
    forget(key) {
      timesForgotten += 1;
      kept.delete(key);
    },
    forgetAll() {
      timesForgotten += 1;
      kept.clear();
    },
  };
}

/** @param isHearing whether the catalog's invalidations are received */
export function createWorkspaceMemory(now: () => number, isHearing: () => boolean): WorkspaceMemory {
  const removedLinks = createMemory<RemovedLinks>(now, (known) =>
    known.removedLinks === undefined ? Number.POSITIVE_INFINITY : REMOVED_KEPT_MS,
  );
  const linkSets = createLinkSets({ isHearing, now });
  return {
    removedLinks: { ...removedLinks, get: (key) => (isHearing() ? removedLinks.get(key) : undefined) },
    eventsEver: createMemory(now, () => EVENTS_KEPT_MS),
    linkSets,
    pageEdges: createPageEdges(),
    changed(change) {
      linkSets.changed(change);
      for (const { table, workspaceId, isRemoved } of change.records) {
        if (isRemoved && table === LINKS_TABLE) removedLinks.forget(workspaceId);
      }
    },
    missed() {
      linkSets.missed();
      removedLinks.forgetAll();
    },
  };
}
