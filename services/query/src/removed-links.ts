import type { PlanFacts } from '@waymark/event-query';
import { LRUCache } from 'lru-cache';

const WORKSPACES_KEPT = 10_000;
/** A link removed within this time leaves a page with fewer items than asked for; none of its events is shown. */
const KEPT_MS = 1000;

type RemovedLinks = Pick<PlanFacts, 'hasRemovedLinks' | 'removedLinks'>;

/** Remembers which links with events workspaces have removed: once they are too many to be listed, they always are. */
export interface RemovedLinksMemory {
  /** Undefined = not known any more. */
  get(workspaceId: string): RemovedLinks | undefined;
  /** @param askedMs when the question was put to the database */
  set(workspaceId: string, removedLinks: RemovedLinks, askedMs: number): void;
}

export function createRemovedLinksMemory(now: () => number): RemovedLinksMemory {
  const kept = new LRUCache<string, { readonly removedLinks: RemovedLinks; readonly untilMs: number }>({
    max: WORKSPACES_KEPT,
  });
  return {
    get(workspaceId) {
      const known = kept.get(workspaceId);
      return known !== undefined && now() < known.untilMs ? known.removedLinks : undefined;
    },
    set(workspaceId, removedLinks, askedMs) {
      const areTooMany = removedLinks.removedLinks === undefined;
      kept.set(workspaceId, { removedLinks, untilMs: areTooMany ? Number.POSITIVE_INFINITY : askedMs + KEPT_MS });
    },
  };
}
