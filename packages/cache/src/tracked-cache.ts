import { LRUCache } from 'lru-cache';
import { createLru } from './lru.js';

/** The most that a cache holds; beyond it, the least recently used entries are dropped. */
export type CacheBound<Value> =
  | { readonly entriesMax: number }
  /** Limit on the sum of the sizes of all values; a size is a whole number of at least 1. */
  | { readonly sizeMax: number; readonly sizeOf: (value: Value) => number };

/** Options of {@link createTrackedCache}. */
export interface TrackedCacheOptions<Value> {
  readonly bound: CacheBound<Value>;
  /** How long a value is served, counted from the start of its load. */
  readonly ttlMs: number | ((value: Value) => number);
  /**
   * Whether this cache receives evictions, such as those that other processes publish. While it does not, every load is a separate
   * read and nothing is served from the cache. True by default.
   */
  readonly isUsable?: () => boolean;
  readonly now: () => number;
}

interface Entry<Value> {
  readonly value: Value;
  /** When the load of the value began. */
  readonly startedMs: number;
}

interface Load<Value> {
  readonly startedMs: number;
  /** The value for all callers; undefined: only the caller that began the load uses its value. */
  readonly shared: Promise<Value> | undefined;
}

/**
 * A cache that never answers with a value from before an eviction: a load that began before its key was evicted is neither stored
 * nor shared with callers that come after.
 */
export interface TrackedCache<Value> {
  /** The cached value; undefined when there is none that may be used. */
  get(key: string): Value | undefined;
  /**
   * The cached value, or else the result of `read`. Concurrent calls share one read, and its error.
   *
   * @param maxAgeMs the greatest age at which a value is used, if that is less than its TTL
   */
  load(key: string, read: () => Promise<Value>, maxAgeMs?: number): Promise<Value>;
  /**
   * The result of `read`, cached for later calls. Concurrent calls do not share it: for reads that are aborted with their request.
   */
  refresh(key: string, read: () => Promise<Value>): Promise<Value>;
  /** Stores a value that is known to be current. Loads under way do not replace it. */
  set(key: string, value: Value): void;
  evict(key: string): void;
  /** Evicts everything. */
  clear(): void;
}

/** Creates a {@link TrackedCache}. Every cached read uses one: CONTRIBUTING.md, "A cached read". */
export function createTrackedCache<Value>(options: TrackedCacheOptions<Value>): TrackedCache<Value> {
  const { bound, ttlMs, isUsable = () => true, now } = options;
  const entries =
    'entriesMax' in bound
      ? createLru<string, Entry<Value>>(bound.entriesMax)
      : new LRUCache<string, Entry<Value>>({
          maxSize: bound.sizeMax,
          sizeCalculation: ({ value }) => bound.sizeOf(value),
        });
  /** The load of each key that began last. A load is removed when it ends, and when its key is evicted or set. */
  const loads = new Map<string, Load<Value>>();

  /** Whether a value may answer a call that was made at `atMs`. A value whose load began later may not: the clock was set back meanwhile. */
  function isFresh({ value, startedMs }: Entry<Value>, atMs: number, maxAgeMs: number): boolean {
    const valueTtlMs = typeof ttlMs === 'number' ? ttlMs : ttlMs(value);
    return startedMs <= atMs && atMs < startedMs + Math.min(valueTtlMs, maxAgeMs);
  }

  function freshEntry(key: string, atMs: number, maxAgeMs = Number.POSITIVE_INFINITY): Entry<Value> | undefined {
    const entry = entries.get(key);
    return entry !== undefined && isFresh(entry, atMs, maxAgeMs) ? entry : undefined;
  }

  async function readAndStore(key: string, read: () => Promise<Value>, isShared: boolean): Promise<Value> {
    const startedMs = now();
    const result = read();
    const load: Load<Value> = { startedMs, shared: isShared ? result : undefined };
    loads.set(key, load);
    try {
      const value = await result;
      if (loads.get(key) === load) entries.set(key, { value, startedMs });
      return value;
    } finally {
      if (loads.get(key) === load) loads.delete(key);
    }
  }

  return {
    get: (key) => (isUsable() ? freshEntry(key, now())?.value : undefined),

    async load(key, read, maxAgeMs = Number.POSITIVE_INFINITY) {
      if (!isUsable()) return read();
      const atMs = now();
      const entry = freshEntry(key, atMs, maxAgeMs);
      if (entry !== undefined) return entry.value;
      const load = loads.get(key);
      if (load?.shared !== undefined) {
        const value = await load.shared;
        if (isFresh({ value, startedMs: load.startedMs }, atMs, maxAgeMs)) return value;
        // Another caller may read again already. Its load began after this call, so its value is new enough whatever its age.
        const next = loads.get(key);
        if (next !== load && next?.shared !== undefined) return next.shared;
      }
      return readAndStore(key, read, true);
    },

    refresh: (key, read) => (isUsable() ? readAndStore(key, read, false) : read()),

    set(key, value) {
      loads.delete(key);
      entries.set(key, { value, startedMs: now() });
    },

    evict(key) {
      loads.delete(key);
      entries.delete(key);
    },

    clear() {
      loads.clear();
      entries.clear();
    },
  };
}
