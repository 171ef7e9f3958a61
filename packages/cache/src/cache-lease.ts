import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';

/** How long a process may serve its cached copies without proof that it still receives invalidations. */
export const CACHE_LEASE_MS = 1_500;
/**
 * Redis keeps a lease this much longer than its holder uses it, so that a write never stops waiting too early: Redis truncates times to
 * whole milliseconds, timers fire up to a millisecond early, and the clocks of two machines differ in speed.
 */
const MARGIN_MS = 50;
const STORED_LEASE_MS = CACHE_LEASE_MS + MARGIN_MS;
const RENEW_EVERY_MS = 500;
/** A process that has served no copies for this long stops renewing its lease, so that no write waits for it. */
const IDLE_MS = 5_000;

/** Sets or renews a lease. KEYS sorted set of lease holders; ARGV id of the holder, duration in ms. */
const HOLD = `
local time = redis.call('TIME')
redis.call('ZADD', KEYS[1], time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2], ARGV[1])
return redis.call('PEXPIRE', KEYS[1], 2 * ARGV[2])`;

/**
 * Publishes a message and returns the current lease holders, each with its remaining ms. If the clock of Redis was set back, the stored end of
 * a lease may be further away than a lease lasts: the script moves it to the end of a lease that begins now. KEYS lease holders; ARGV channel,
 * message, duration of a lease in ms. A full Redis refuses the change of the entry, but not the message.
 */
const PUBLISH_TO_HOLDERS = `
redis.call('PUBLISH', ARGV[1], ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local latest = now + ARGV[3]
local holders = {}
local entries = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
for i = 1, #entries, 2 do
  local ends = tonumber(entries[i + 1])
  if ends > latest then
    ends = latest
    redis.pcall('ZADD', KEYS[1], ends, entries[i])
  end
  if ends > now then
    holders[#holders + 1] = { entries[i], ends - now }
  else
    redis.call('ZREM', KEYS[1], entries[i])
  end
end
return holders`;

/** The connections of a change feed to Redis. */
export interface FeedConnections {
  /** The connection for subscriptions. It must receive no messages but those of the feed. */
  readonly subscriber: Redis;
  /** Prefix of the feed's key. Channels do not have it. */
  readonly keyPrefix: string;
  /** Runs a command. Resolves with undefined when Redis is away, slow or failing; never throws. */
  tryRun<T>(command: (redis: Redis) => Promise<T>): Promise<T | undefined>;
  /** Runs a command. @throws when it fails */
  run<T>(command: (redis: Redis) => Promise<T>): Promise<T>;
  /** Runs a command if the connection is open, and does without the confirmation of replicas. @throws when it fails */
  runAtOnce<T>(command: (redis: Redis) => Promise<T>): Promise<T>;
}

/** A process with a lease, which may be serving cached copies for `leftMs` more. */
export interface Holder {
  readonly id: string;
  readonly leftMs: number;
}

/**
 * Creates the lease that lets this process serve its cached copies (docs/reference/consistency.md). It is short, and renewed only while
 * the process receives invalidations. Because writes wait for every lease holder, a read checks the lease without a request to Redis.
 *
 * @param holdersKey Redis key of the sorted set of lease holders; each score is the end of a lease in ms of Redis' clock
 */
export function createCacheLease(connections: FeedConnections, holdersKey: string) {
  const { subscriber } = connections;
  const id = randomUUID();
  /** Identifies the present subscription: a new symbol for each; undefined while there is none. */
  let subscription: symbol | undefined;
  let heldUntilMs = Number.NEGATIVE_INFINITY;
  /** When a read last checked the lease. */
  let usedMs = Number.NEGATIVE_INFINITY;
  let isRenewing = false;
  /** After a failure, no renewal begins before this time: reads without a lease would try one after the other. */
  let pausedUntilMs = Number.NEGATIVE_INFINITY;

  /**
   * Stores the lease in Redis, then sends a ping on the subscribed connection. The pong proves that all earlier messages have been
   * received. Later publishers find the lease in Redis, where it lasts longer than here, and wait for the acknowledgement.
   */
  async function renew(): Promise<void> {
    if (subscription === undefined || isRenewing) return;
    const [renewed, startedMs] = [subscription, performance.now()];
    if (startedMs < pausedUntilMs) return;
    isRenewing = true;
    try {
      await connections.run((client) => client.eval(HOLD, 1, holdersKey, id, STORED_LEASE_MS));
      await subscriber.ping();
      if (subscription === renewed) heldUntilMs = startedMs + CACHE_LEASE_MS;
    } catch {
      // Without renewal the lease expires.
      pausedUntilMs = performance.now() + RENEW_EVERY_MS;
    } finally {
      isRenewing = false;
    }
  }
  /** The timer of renewals; undefined while the process serves no copies. */
  let renewing: NodeJS.Timeout | undefined;

  function stopRenewing(): void {
    clearInterval(renewing);
    renewing = undefined;
  }
  function startRenewing(): NodeJS.Timeout {
    return setInterval(() => {
      if (performance.now() - usedMs < IDLE_MS) void renew();
      else stopRenewing();
    }, RENEW_EVERY_MS).unref();
  }

  /** Call it when the subscription has ended: no invalidations are received any more. */
  function unsubscribed(): void {
    subscription = undefined;
    heldUntilMs = Number.NEGATIVE_INFINITY;
  }

  return {
    id,
    unsubscribed,

    /** Call it when the subscription is active and copies from before it have been evicted. */
    subscribed(): void {
      subscription = Symbol('subscription');
      pausedUntilMs = Number.NEGATIVE_INFINITY;
    },

    /** Whether cached copies may be served now. Every read calls it; it sends no request to Redis. */
    isHeld(): boolean {
      usedMs = performance.now();
      renewing ??= startRenewing();
      if (usedMs < heldUntilMs) return true;
      void renew();
      return false;
    },

    /** Publishes a message. @returns the lease holders at that time. @throws the error of `FeedConnections.run` */
    async publish(channel: string, message: string): Promise<Holder[]> {
      const holders = await connections.run((client) =>
        client.eval(PUBLISH_TO_HOLDERS, 1, holdersKey, channel, message, STORED_LEASE_MS),
      );
      return (holders as [string, number][]).map(([holder, leftMs]) => ({ id: holder, leftMs }));
    },

    /** Releases the lease, so that no write waits for this process. */
    async close(): Promise<void> {
      stopRenewing();
      unsubscribed();
      await connections.tryRun((client) => client.zrem(holdersKey, id));
    },
  };
}
