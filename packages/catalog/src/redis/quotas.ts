import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { UnknownOutcomeError } from '@waymark/clickhouse';
import { type ApiError, hasElapsed, randomUInt32 } from '@waymark/contract';
import { unavailable } from '../model/errors.js';
import type { RedisConnections } from './connections.js';

/**
 * TTL of a queue position: longer than a creation can take, with the wait below, the wait for its locks, and their TTL. The position of a
 * killed process counts against the quota until it expires.
 */
const POSITION_MS = 60_000;
/** How long a creation waits for those in front of it. */
const WAIT_MS_MAX = 10_000;
/** Shortest pause before a creation counts those in front of it again; a random time of up to as much is added. */
const PAUSE_MS = 10;

/**
 * Takes a queue position for a member, unless it has one already, and returns the sum of the amounts in front of it. KEYS of one workspace:
 * the queue, a sorted set whose scores are position numbers; the last position number; a hash with the time in ms when each member expires.
 * ARGV the member `<owner>|<amount>`, TTL of a position in ms. If the clock of Redis was set back, the stored end of a position may be further
 * away than the TTL: the script sets it to the TTL from now.
 */
const TAKE_POSITION = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local own = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not own then
  own = redis.call('INCR', KEYS[2])
  redis.call('ZADD', KEYS[1], own, ARGV[1])
  redis.call('HSET', KEYS[3], ARGV[1], now + ARGV[2])
  for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, 2 * ARGV[2]) end
end
local ahead = 0
for _, member in ipairs(redis.call('ZRANGE', KEYS[1], '-inf', '(' .. own, 'BYSCORE')) do
  local ends = tonumber(redis.call('HGET', KEYS[3], member) or '0')
  if ends > now + ARGV[2] then redis.call('HSET', KEYS[3], member, now + ARGV[2]) end
  if ends > now then
    ahead = ahead + tonumber(string.match(member, '|(%d+)$'))
  else
    redis.call('ZREM', KEYS[1], member)
    redis.call('HDEL', KEYS[3], member)
  end
end
return ahead`;

const RELEASE_POSITION = `redis.call('ZREM', KEYS[1], ARGV[1]) return redis.call('HDEL', KEYS[3], ARGV[1])`;

/** A creation that a quota limits. */
export interface QuotaRequest {
  readonly workspaceId: string;
  /** The kind of records that are counted, such as `links`. Creations of one kind in a workspace share a queue. */
  readonly what: string;
  /** Number of records to create. */
  readonly amount: number;
  /** Null = unlimited. */
  readonly limit: number | null;
  /** Counts the existing records; the result must not be older than the call. */
  readonly used: () => Promise<number>;
  /** The error for a creation that exceeds the quota. */
  readonly refusal: () => ApiError;
}

/**
 * Enforces quotas exactly, also for concurrent creations. A creation takes a queue position in Redis, and counts the amounts in front of it
 * as used. It waits for them only if the quota has room without them and none with them, so far from the limit nothing waits.
 */
export function createQuotas(redis: RedisConnections, now: () => number) {
  return {
    /**
     * Runs `work` if the quota has room for the amount.
     *
     * @throws the error of `refusal` if it has no room; ApiError 500 with `Retry-After` after ten seconds of waiting, or when Redis is
     *   away; the error of `work`
     */
    async within<T>(request: QuotaRequest, work: () => Promise<T>): Promise<T> {
      const { workspaceId, what, amount, limit, used, refusal } = request;
      if (limit === null) return work();
      const queue = `${redis.keyPrefix}waymark:quota:{${workspaceId}}:${what}`;
      const keys = [queue, `${queue}:last`, `${queue}:ends`];
      const member = `${randomUUID()}|${amount}`;
      const takePosition = () => redis.run((client) => client.eval(TAKE_POSITION, 3, ...keys, member, POSITION_MS));
      const releasePosition = () =>
        redis.run((client) => client.eval(RELEASE_POSITION, 3, ...keys, member)).catch(() => undefined);

      const startedMs = now();
      let result: T;
      try {
        // The queue is read before the count: a creation that has left the queue by then is counted by `used`.
        for (;;) {
          const ahead = Number(await takePosition());
          const count = await used();
          if (count + amount > limit) throw refusal();
          if (count + ahead + amount <= limit) break;
          if (hasElapsed(startedMs, WAIT_MS_MAX, now())) throw unavailable(`quota of ${what}`);
          await delay(PAUSE_MS + (randomUInt32() % PAUSE_MS));
        }
        result = await work();
      } catch (err) {
        // After an unknown outcome the records may still be stored, so the queue position is left to expire.
        if (!(err instanceof UnknownOutcomeError)) await releasePosition();
        throw err;
      }
      await releasePosition();
      return result;
    },
  };
}
export type QuotaCounters = ReturnType<typeof createQuotas>;
