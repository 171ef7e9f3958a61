import type { Redis } from 'ioredis';
import { RESERVE_KEY } from '../queue/keys.js';
import type { QueueLogger } from '../redis/throttled-log.js';

/**
 * At its memory limit Redis refuses every write, among them the completion of jobs, which alone would free memory: BullMQ
 * dead-locks there. So a little memory is held in reserve and given back when the limit is met; producers stay away meanwhile.
 */
export interface MemoryReserve {
  /** Gives the reserve back to Redis. */
  release(): void;
  close(): void;
}

const RESERVE_SHARE = 0.02;
const RESERVE_BYTES_MAX = 4_000_000;
/** The reserve is taken again once memory is used that little. */
const ROOM_SHARE = 0.8;
const CHECK_INTERVAL_MS = 5000;
const RELEASE_INTERVAL_MS = 1000;

function field(info: string, name: string): number {
  return Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
}

/** Keeps the reserve, shared by all writers. */
export function createMemoryReserve(redis: Redis, logger: QueueLogger, now: () => number): MemoryReserve {
  let releasedAt = Number.NEGATIVE_INFINITY;

  const fill = async () => {
    const info = await redis.info('memory');
    const limit = field(info, 'maxmemory');
    const bytes = Math.min(RESERVE_BYTES_MAX, Math.floor(limit * RESERVE_SHARE));
    if (limit === 0 || field(info, 'used_memory') + bytes > limit * ROOM_SHARE) return;
    if ((await redis.exists(RESERVE_KEY)) === 0) await redis.set(RESERVE_KEY, Buffer.alloc(bytes), 'NX');
  };

  const check = () => {
    fill().catch((err: unknown) => logger.debug({ err }, 'the memory reserve was not taken'));
  };
  const timer = setInterval(check, CHECK_INTERVAL_MS);
  timer.unref();
  check();

  return {
    release() {
      if (now() - releasedAt < RELEASE_INTERVAL_MS) return;
      releasedAt = now();
      logger.error({}, 'redis is at its memory limit: giving it the reserve');
      redis.unlink(RESERVE_KEY).catch((err: unknown) => logger.warn({ err }, 'the reserve could not be released'));
    },
    close: () => clearInterval(timer),
  };
}
