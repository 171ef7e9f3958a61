import type { EventKind } from '@waymark/contract';
import type { PlanFacts } from '@waymark/event-query';
import { LRUCache } from 'lru-cache';

const WORKSPACES_KEPT = 10_000;
/** A link removed within this time leaves a page with fewer items than asked for; none of its events is shown. */
const REMOVED_KEPT_MS = 1000;
/** The number decides between two ways to the same answer: an old one will do. */
const EVENTS_KEPT_MS = 600_000;

type RemovedLinks = Pick<PlanFacts, 'hasRemovedLinks' | 'removedLinks'>;

/** What plans depend on and the next request of the workspace need not ask for again. */
export interface WorkspaceMemory {
  /** Which links with events it has removed: once they are too many to be listed, they always are. */
  readonly removedLinks: Memory<RemovedLinks>;
  /** How many events it has, by workspace and kind. */
  readonly eventsEver: Memory<number>;
}

export interface Memory<Value> {
  /** @returns undefined when it is not known any more */
  get(key: string): Value | undefined;
  /** @param askedMs when the question was put to the database */
  set(key: string, value: Value, askedMs: number): void;
}

/** The key of one kind of a workspace's events. */
export function kindKey(workspaceId: string, kind: EventKind): string {
  return `${workspaceId}/${kind}`;
}

/** @param keptMs how long a value is believed */
function createMemory<Value>(now: () => number, keptMs: (value: Value) => number): Memory<Value> {
  const kept = new LRUCache<string, { readonly value: Value; readonly untilMs: number }>({ max: WORKSPACES_KEPT });
  return {
    get(key) {
      const known = kept.get(key);
      return known !== undefined && now() < known.untilMs ? known.value : undefined;
    },
    set(key, value, askedMs) {
      kept.set(key, { value, untilMs: askedMs + keptMs(value) });
    },
  };
}

export function createWorkspaceMemory(now: () => number): WorkspaceMemory {
  return {
    removedLinks: createMemory(now, ({ removedLinks }) =>
      removedLinks === undefined ? Number.POSITIVE_INFINITY : REMOVED_KEPT_MS,
    ),
    eventsEver: createMemory(now, () => EVENTS_KEPT_MS),
  };
}
