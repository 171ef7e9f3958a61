import { LRUCache } from 'lru-cache';

const WORKSPACES_KEPT = 10_000;
/** A link removed within this time leaves a page with fewer items than asked for; none of its events is shown. */
const NONE_REMOVED_MS = 1000;

/** Remembers which workspaces have removed links: once one has, it always has. */
export interface RemovedLinksMemory {
  /** Undefined = not known any more. */
  get(workspaceId: string): boolean | undefined;
  /** @param askedMs when the question was put to the database */
  set(workspaceId: string, hasRemovedLinks: boolean, askedMs: number): void;
}

export function createRemovedLinksMemory(now: () => number): RemovedLinksMemory {
  const knownUntil = new LRUCache<string, number>({ max: WORKSPACES_KEPT });
  return {
    get(workspaceId) {
      const untilMs = knownUntil.get(workspaceId);
      if (untilMs === Number.POSITIVE_INFINITY) return true;
      return untilMs !== undefined && now() < untilMs ? false : undefined;
    },
    set(workspaceId, hasRemovedLinks, askedMs) {
      knownUntil.set(workspaceId, hasRemovedLinks ? Number.POSITIVE_INFINITY : askedMs + NONE_REMOVED_MS);
    },
  };
}
