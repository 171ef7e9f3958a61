import type { Redis } from 'ioredis';
import type { QueueLogger } from '../redis/throttled-log.js';
import { jobKey, type QueueName, queueKey } from './keys.js';

/** Options of {@link watchLongLocks}. */
export interface LongLocksOptions {
  readonly redis: Redis;
  readonly queue: QueueName;
  /** How long a worker locks a job. */
  readonly lockMs: number;
  /** Time between two checks for the jobs of dead workers. */
  readonly stalledCheckMs: number;
  readonly logger: Pick<QueueLogger, 'warn' | 'debug'>;
}

const INTERVAL_MS = 10_000;

/**
 * Shortens the TTL of locks that would last longer than any lock is set to. Redis expires keys by the time of day. If its clock is set back
 * by an hour, the locks of a killed worker expire an hour late, and so does the key that separates BullMQ's checks for such locks; until
 * then no other worker takes over the jobs.
 *
 * KEYS: the key that separates the checks, the list of active jobs. ARGV: the TTL of that key and of a lock in milliseconds, and the prefix
 * of job keys, which have the hash tag of KEYS. Returns the number of shortened TTLs.
 */
const SHORTEN = `
local found = 0
local function shorten(key, ms)
  if redis.call('PTTL', key) > tonumber(ms) then found = found + redis.call('PEXPIRE', key, ms) end
end
shorten(KEYS[1], ARGV[1])
for _, id in ipairs(redis.call('LRANGE', KEYS[2], 0, -1)) do shorten(ARGV[3] .. id .. ':lock', ARGV[2]) end
return found
`;

/**
 * Shortens locks that would last too long, now and every ten seconds, so that jobs of dead workers are taken over also when the clock of
 * Redis was set back.
 */
export function watchLongLocks({ redis, queue, lockMs, stalledCheckMs, logger }: LongLocksOptions): { close(): void } {
  const keys = [queueKey(queue, 'stalled-check'), queueKey(queue, 'active')];
  const prefix = jobKey(queue, '');
  let isChecking = false;
  async function check(): Promise<void> {
    if (isChecking) return;
    isChecking = true;
    try {
      const found = Number(await redis.eval(SHORTEN, keys.length, ...keys, stalledCheckMs, lockMs, prefix));
      if (found > 0) logger.warn({ queue, locks: found }, 'the clock of Redis was set back: shortening locks of jobs');
    } catch (err) {
      logger.debug({ err, queue }, 'locks of jobs could not be checked');
    } finally {
      isChecking = false;
    }
  }
  void check();
  const timer = setInterval(check, INTERVAL_MS);
  return { close: () => clearInterval(timer) };
}
