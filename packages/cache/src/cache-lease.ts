import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';

/** How long a process may serve its copies without proof that it still receives invalidations. */
export const LEASE_MS = 1_500;
/**
 * Redis keeps a lease for longer than its holder uses it, so that a write never stops waiting too soon: Redis' times are cut to whole
 * milliseconds, timers fire up to a millisecond early, and the clocks of two machines run at slightly different speeds.
 */
const MARGIN_MS = 50;
const RENEW_EVERY_MS = 500;
/** A process that serves no copies for this long gives up its lease, so that no write waits for it. */
const IDLE_MS = 5_000;

/** KEYS the holders; ARGV the holder and how long it holds. */
const HOLD = `
local time = redis.call('TIME')
redis.call('ZADD', KEYS[1], time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2], ARGV[1])
return redis.call('PEXPIRE', KEYS[1], 2 * ARGV[2])`;

/** Publishes and returns who holds a lease at that moment, each with the ms it has left. KEYS the holders; ARGV channel and message. */
const PUBLISH_TO_HOLDERS = `
redis.call('PUBLISH', ARGV[1], ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local holders = {}
local entries = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
for i = 1, #entries, 2 do
  if tonumber(entries[i + 1]) > now then
    holders[#holders + 1] = { entries[i], entries[i + 1] - now }
  else
    redis.call('ZREM', KEYS[1], entries[i])
  end
end
return holders`;

/** The connections of a change feed. */
export interface FeedConnections {
  /** The connection for subscriptions. */
  readonly subscriber: Redis;
  /** The answer, or undefined when Redis is away, slow or failing. Never throws. */
  tryRun<T>(command: (redis: Redis) => Promise<T>): Promise<T | undefined>;
  /** @throws when the command fails */
  run<T>(command: (redis: Redis) => Promise<T>): Promise<T>;
}

/** A process that may be using copies. */
export interface Holder {
  readonly id: string;
  readonly leftMs: number;
}

/**
 * The lease on which this process answers from its own copies: it is short, and renewed for as long as the process receives
 * invalidations. A write waits for the processes that hold one, so that checking it needs no request to Redis.
 *
 * @param holdersKey in Redis: who holds a lease, and until when in ms of Redis' clock. Not a cache entry: writers must find it
 */
export function createCacheLease(connections: FeedConnections, holdersKey: string) {
  const { subscriber } = connections;
  const id = randomUUID();
  /** Another one for each subscription; undefined while there is none. */
  let subscription: symbol | undefined;
  let heldUntilMs = Number.NEGATIVE_INFINITY;
  let usedMs = Number.NEGATIVE_INFINITY;
  let isRenewing = false;

  /**
   * Records in Redis that it holds, then pings through the subscription. A pong proves that what was published before was received;
   * what is published later finds the holder in Redis, for longer than the lease lasts here, and waits for its acknowledgement.
   */
  async function renew(): Promise<void> {
    if (subscription === undefined || isRenewing) return;
    const [renewed, askedMs] = [subscription, performance.now()];
    isRenewing = true;
    try {
      await connections.run((client) => client.eval(HOLD, 1, holdersKey, id, LEASE_MS + MARGIN_MS));
      await subscriber.ping();
      if (subscription === renewed) heldUntilMs = askedMs + LEASE_MS;
    } catch {
      // The lease expires.
    } finally {
      isRenewing = false;
    }
  }
  const renewing = setInterval(() => {
    if (performance.now() - usedMs < IDLE_MS) void renew();
  }, RENEW_EVERY_MS).unref();

  /** The subscription has ended: invalidations are not received any more. */
  function unsubscribed(): void {
    subscription = undefined;
    heldUntilMs = Number.NEGATIVE_INFINITY;
  }

  return {
    id,
    unsubscribed,

    /** To be called when the subscription stands and copies from before it are not used any more. */
    subscribed(): void {
      subscription = Symbol('subscription');
    },

    /** Whether copies may be served now. Called by every read; sends no request to Redis. */
    isHeld(): boolean {
      usedMs = performance.now();
      if (usedMs < heldUntilMs) return true;
      void renew();
      return false;
    },

    /** @returns those who held a lease when the message was published; @throws ApiError 500 with `Retry-After` */
    async publish(channel: string, message: string): Promise<Holder[]> {
      const holders = await connections.run((client) =>
        client.eval(PUBLISH_TO_HOLDERS, 1, holdersKey, channel, message),
      );
      return (holders as [string, number][]).map(([holder, leftMs]) => ({ id: holder, leftMs }));
    },

    /** Releases the lease, so that no write waits for this process. */
    async close(): Promise<void> {
      clearInterval(renewing);
      unsubscribed();
      await connections.tryRun((client) => client.zrem(holdersKey, id));
    },
  };
}
