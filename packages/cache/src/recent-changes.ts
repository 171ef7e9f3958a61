/** The keys that have changed of late, so that a change makes only those look-ups outdated that are under way for its own keys. */
export interface RecentChanges {
  /** The number of changes so far. Read it before a look-up begins. */
  count(): number;
  /** Call it after a change of these keys. */
  add(keys: Iterable<string>): void;
  /** Call it when changes may have been missed: every key may have changed. */
  addAll(): void;
  /**
   * Whether the key has changed since there were `count` changes. Also true when the changes of that time are no longer kept.
   */
  isChangedSince(key: string, count: number): boolean;
}

/** @param keysMax number of changed keys that are kept at least; at most twice as many are, and those of two changes more */
export function createRecentChanges(keysMax: number): RecentChanges {
  let count = 0;
  /** By key, the number of its last change. */
  let recent = new Map<string, number>();
  /** The same of earlier changes, up to `earlierEnd`. */
  let earlier = new Map<string, number>();
  let earlierEnd = 0;
  /** The last change whose keys are no longer kept. */
  let droppedEnd = 0;

  return {
    count: () => count,

    add(keys) {
      if (recent.size > keysMax) {
        [earlier, recent] = [recent, new Map()];
        [droppedEnd, earlierEnd] = [earlierEnd, count];
      }
      count += 1;
      for (const key of keys) recent.set(key, count);
    },

    addAll() {
      count += 1;
      [recent, earlier] = [new Map(), new Map()];
      [droppedEnd, earlierEnd] = [count, count];
    },

    isChangedSince: (key, since) => since < droppedEnd || (recent.get(key) ?? earlier.get(key) ?? 0) > since,
  };
}
