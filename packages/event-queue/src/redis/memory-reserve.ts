import type { Redis } from 'ioredis';
import { RESERVE_KEY } from '../queue/keys.js';
import { memoryOf } from './info.js';
import type { QueueLogger } from './throttled-log.js';

/**
 * At its memory limit Redis refuses every write, including the completion of jobs, which would free memory: BullMQ dead-locks.
 * Therefore a value in Redis reserves a little memory, and writers delete it at the limit. Producers do not use the freed
 * memory, because they shed load below the limit.
 */
export interface MemoryReserve {
  /** Deletes the reserved value, so that jobs can be completed. */
  release(): void;
  close(): void;
}

const RESERVE_SHARE = 0.02;
const RESERVE_BYTES_MAX = 4_000_000;
/** The reserve is created only if the memory in use, with it, is at most this share of the limit. */
const FILL_SHARE_MAX = 0.8;
const CHECK_INTERVAL_MS = 15_000;
const RELEASE_INTERVAL_MS = 1000;

/** Creates the reserve if there is none, now and regularly. All writers of a queue shard share it. */
export function createMemoryReserve(redis: Redis, logger: QueueLogger): MemoryReserve {
  /** By `performance.now()`, because the clock of the time of day may be set back. */
  let releasedMs = Number.NEGATIVE_INFINITY;

  const fill = async () => {
    const { usedBytes, limitBytes } = memoryOf(await redis.info('memory'));
    const bytes = Math.min(RESERVE_BYTES_MAX, Math.floor(limitBytes * RESERVE_SHARE));
    if (limitBytes === 0 || usedBytes + bytes > limitBytes * FILL_SHARE_MAX) return;
    if ((await redis.exists(RESERVE_KEY)) === 0) await redis.set(RESERVE_KEY, Buffer.alloc(bytes), 'NX');
  };

  const check = () => {
    fill().catch((err: unknown) => logger.debug({ err }, 'the memory reserve could not be created'));
  };
  const timer = setInterval(check, CHECK_INTERVAL_MS);
  timer.unref();
  check();

  return {
    release() {
      if (performance.now() - releasedMs < RELEASE_INTERVAL_MS) return;
      releasedMs = performance.now();
      logger.error({}, 'redis is at its memory limit: releasing the reserve');
      redis
        .unlink(RESERVE_KEY)
        .catch((err: unknown) => logger.warn({ err }, 'the memory reserve could not be released'));
    },
    close: () => clearInterval(timer),
  };
}
