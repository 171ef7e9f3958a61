import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type ApiError, randomUInt32 } from '@waymark/contract';
import { UnknownOutcomeError, unavailable } from '../model/errors.js';
import type { RedisConnections } from './connections.js';

/**
 * How long a queue position is kept: longer than a creation can take, with the wait below, the wait for its locks, and their duration.
 * The position of a killed process counts against the quota until then.
 */
const POSITION_MS = 60_000;
const WAIT_MS_MAX = 10_000;
const PAUSE_MS = 10;

/**
 * Takes a queue position, or keeps the one it has, and returns the sum of the amounts in front of it. KEYS the queue, its last position
 * number and its expiry times (all of one workspace); ARGV the member `<owner>|<amount>`, lifetime of a position in ms. The score of
 * a member is its position number; a hash has the time at which each member expires.
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
  if ends > now then
    ahead = ahead + tonumber(string.match(member, '|(%d+)$'))
  else
    redis.call('ZREM', KEYS[1], member)
    redis.call('HDEL', KEYS[3], member)
  end
end
return ahead`;

const RELEASE_POSITION = `redis.call('ZREM', KEYS[1], ARGV[1]) return redis.call('HDEL', KEYS[3], ARGV[1])`;

export interface QuotaRequest {
  readonly workspaceId: string;
  /** What is counted, such as `links`. Requests of a workspace with the same value share a queue. */
  readonly what: string;
  readonly amount: number;
  /** Null = unlimited. */
  readonly limit: number | null;
  /** Counts the existing records; the result must not be older than the call. */
  readonly used: () => Promise<number>;
  readonly refusal: () => ApiError;
}

/**
 * Enforces quotas exactly under concurrent creations. A creation takes a queue position in Redis and counts the amounts in front of
 * it as used. It waits for them only if they decide whether the quota is exceeded, so far from the limit there is no waiting.
 */
export function createQuotas(redis: RedisConnections, now: () => number) {
  return {
    /** Runs `work` if the quota has room for the amount. @throws the error of `refusal` if it has not */
    async within<T>(request: QuotaRequest, work: () => Promise<T>): Promise<T> {
      const { workspaceId, what, amount, limit, used, refusal } = request;
      if (limit === null) return work();
      const queue = `${redis.keyPrefix}waymark:quota:{${workspaceId}}:${what}`;
      const keys = [queue, `${queue}:last`, `${queue}:ends`];
      const member = `${randomUUID()}|${amount}`;
      const takePosition = () => redis.run((client) => client.eval(TAKE_POSITION, 3, ...keys, member, POSITION_MS));
      const releasePosition = () =>
        redis.run((client) => client.eval(RELEASE_POSITION, 3, ...keys, member)).catch(() => undefined);

      const untilMs = now() + WAIT_MS_MAX;
      let result: T;
      try {
        // The queue is read before the count: a creation that has left the queue by then is counted by `used`.
        for (;;) {
          const ahead = Number(await takePosition());
          const count = await used();
          if (count + amount > limit) throw refusal();
          if (count + ahead + amount <= limit) break;
          if (now() > untilMs) throw unavailable(`quota of ${what}`);
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
export type Quotas = ReturnType<typeof createQuotas>;
