import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type ApiError, randomUInt32 } from '@waymark/contract';
import { UnknownOutcomeError, unavailable } from '../model/errors.js';
import type { RedisConnections } from './connections.js';

/**
 * Longer than a creation can take: the wait below, its locks' own wait, and their time. A place that a killed process left
 * behind counts against the quota until then.
 */
const PLACE_MS = 60_000;
const WAIT_MS_MAX = 10_000;
const PAUSE_MS = 10;

/**
 * Takes a place in the line, or keeps it, and adds up what is asked for by those in front. KEYS the line and its last number
 * (both of one workspace); ARGV the place's member `<owner>|<amount>`, how long a place lasts in ms. A place's score is its
 * number; the time it ends is a field of a hash beside the line.
 */
const LINE_UP = `
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

const LEAVE = `redis.call('ZREM', KEYS[1], ARGV[1]) return redis.call('HDEL', KEYS[3], ARGV[1])`;

export interface QuotaRequest {
  readonly workspaceId: string;
  /** What is counted, such as `links`: those who count the same stand in one line. */
  readonly what: string;
  readonly amount: number;
  /** Null = as many as one likes. */
  readonly limit: number | null;
  /** How many there are at or after the call. */
  readonly used: () => Promise<number>;
  readonly refusal: () => ApiError;
}

/**
 * Keeps creations at once within a quota, exactly: whoever creates stands in a line in Redis while it does, and counts those in
 * front as made. Only when they decide does it wait for them. Far from the limit nobody waits.
 */
export function createQuotas(redis: RedisConnections, now: () => number) {
  return {
    /** Runs `work` when the quota has room for its amount. @throws what `refusal` gives when it has not */
    async within<T>(request: QuotaRequest, work: () => Promise<T>): Promise<T> {
      const { workspaceId, what, amount, limit, used, refusal } = request;
      if (limit === null) return work();
      const line = `waymark:quota:{${workspaceId}}:${what}`;
      const keys = [line, `${line}:last`, `${line}:ends`];
      const member = `${randomUUID()}|${amount}`;
      const lineUp = () => redis.run((client) => client.eval(LINE_UP, 3, ...keys, member, PLACE_MS));
      const leave = () => redis.run((client) => client.eval(LEAVE, 3, ...keys, member)).catch(() => undefined);

      const untilMs = now() + WAIT_MS_MAX;
      let result: T;
      try {
        // The line is read first: who left it by then is counted by `used`.
        for (;;) {
          const ahead = Number(await lineUp());
          const count = await used();
          if (count + amount > limit) throw refusal();
          if (count + ahead + amount <= limit) break;
          if (now() > untilMs) throw unavailable(`quota of ${what}`);
          await delay(PAUSE_MS + (randomUInt32() % PAUSE_MS));
        }
        result = await work();
      } catch (err) {
        // What may still land keeps its place until it has landed.
        if (!(err instanceof UnknownOutcomeError)) await leave();
        throw err;
      }
      await leave();
      return result;
    },
  };
}
export type Quotas = ReturnType<typeof createQuotas>;
