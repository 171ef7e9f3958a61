import { LRUCache } from 'lru-cache';
import { createLru } from './lru.js';

/** How much a cache holds; the least recently used entries are dropped. */
export type CacheBound<Value> =
  | { readonly entriesMax: number }
  /** Limit on the sum of the sizes of all values; a size is a whole number of at least 1. */
  | { readonly sizeMax: number; readonly sizeOf: (value: Value) => number };

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
  readonly startedMs: number;
}

interface Load<Value> {
  readonly startedMs: number;
  /** Undefined while only the caller that began it may use it. */
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
   * @param maxAgeMs the age up to which a value is used, where that is less than its TTL
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

export function createTrackedCache<Value>(options: TrackedCacheOptions<Value>): TrackedCache<Value> {
  const { bound, ttlMs, isUsable = () => true, now } = options;
  const entries =
    'entriesMax' in bound
      ? createLru<string, Entry<Value>>(bound.entriesMax)
      : new LRUCache<string, Entry<Value>>({
          maxSize: bound.sizeMax,
          sizeCalculation: ({ value }) => bound.sizeOf(value),
        });
  /** By key the load that began last, unless the key was evicted since. */
  const loads = new Map<string, Load<Value>>();

  /** Whether a value may answer a call that came at a time. */
  function isFresh({ value, startedMs }: Entry<Value>, atMs: number, maxAgeMs: number): boolean {
    const usedMs = typeof ttlMs === 'number' ? ttlMs : ttlMs(value);
    return atMs < startedMs + Math.min(usedMs, maxAgeMs);
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
