import { memoryShare } from '@waymark/event-queue';
import type { RedisConnections } from './connections.js';

/** TTL while Redis has ample memory, so that most links of a page are read without ClickHouse. */
const AMPLE_TTL_MS = 24 * 3_600_000;
/** TTL while more than {@link AMPLE_SHARE_MAX} of Redis' memory is used, or its use is unknown. */
const SCARCE_TTL_MS = 600_000;
const AMPLE_SHARE_MAX = 0.3;
/** Used share of Redis' memory above which optional entries are not stored, because the queue is in the same Redis. */
const MEMORY_SHARE_MAX = 0.6;
const MEMORY_CHECK_MS = 1_000;

/** The TTLs of cache entries in Redis, which depend on how much of its memory is used. */
export interface CacheMemory {
  /** TTL of entries that must be stored. */
  ttlMs(): number;
  /** TTL of optional entries; undefined when memory is scarce and they must not be stored. */
  optionalTtlMs(): number | undefined;
}

/**
 * Creates a {@link CacheMemory}. It reads the use of memory in the background, at most once a second, and only when optional entries are
 * to be cached.
 */
export function createCacheMemory(redis: RedisConnections): CacheMemory {
  /** Used share of Redis' memory limit; undefined until it was read. */
  let usedShare: number | undefined;
  let checkedMs = Number.NEGATIVE_INFINITY;

  function check(): void {
    if (performance.now() - checkedMs < MEMORY_CHECK_MS) return;
    checkedMs = performance.now();
    void redis
      .tryRun((client) => client.info('memory'))
      .then((info) => {
        usedShare = info === undefined ? undefined : memoryShare(info);
      });
  }

  const ttlMs = () => (usedShare !== undefined && usedShare <= AMPLE_SHARE_MAX ? AMPLE_TTL_MS : SCARCE_TTL_MS);

  return {
    ttlMs,
    optionalTtlMs() {
      check();
      return (usedShare ?? 0) > MEMORY_SHARE_MAX ? undefined : ttlMs();
    },
  };
}
