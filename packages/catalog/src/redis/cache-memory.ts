import { memoryShare } from '@waymark/event-queue';
import type { RedisConnections } from './connections.js';

/** TTL while Redis has ample memory: most links of a page are then read without ClickHouse. */
const AMPLE_TTL_MS = 24 * 3_600_000;
/** The same above {@link AMPLE_SHARE_MAX}. */
const SCARCE_TTL_MS = 600_000;
const AMPLE_SHARE_MAX = 0.3;
/** Share of Redis' memory in use above which reads add no cache entries, because the queue is in the same Redis. */
const MEMORY_SHARE_MAX = 0.6;
const MEMORY_CHECK_MS = 1_000;

/** TTL of cache entries in Redis, by the share of its memory that is used. */
export interface CacheMemory {
  /** TTL of entries that must be stored. */
  ttlMs(): number;
  /** TTL of entries that can be left out; undefined when they should be, because memory is tight. */
  optionalTtlMs(): number | undefined;
}

/** Reads the memory usage in the background, at most once a second, and only while entries are stored. */
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
