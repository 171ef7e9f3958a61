import { createHmac } from 'node:crypto';
import { keyPrefix } from '@waymark/redis';
import type { Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis, type RateLimiterRes } from 'rate-limiter-flexible';

/** Whether a request is allowed, and the state of its window. */
export interface RateLimitResult {
  readonly allowed: boolean;
  readonly limit: number;
  /** Requests left in the window, never negative. */
  readonly remaining: number;
  /** When the window ends, UTC epoch seconds, rounded up. */
  readonly resetEpochSeconds: number;
  /** Seconds until the window ends, rounded up, at least 1. */
  readonly retryAfterSeconds: number;
}

/** Counts requests against limits, in windows that all processes share. */
export interface RateLimiter {
  /**
   * Counts one request of `key` in a fixed window that starts with its first request. Never rejects: while Redis is unavailable,
   * this process counts in memory.
   *
   * @param key what is limited: the hash of an API key, an address, a link id. Redis stores only an HMAC of it
   * @param bucket name of the limit, such as `standard` or `analytics`
   * @param points cost of the request, at least 1; more for a request that does the work of several
   */
  take(key: string, bucket: string, limit: number, windowSeconds: number, points?: number): Promise<RateLimitResult>;
  /** Takes back what a `take` has counted, for a request that is not carried out. Never rejects. */
  giveBack(key: string, bucket: string, windowSeconds: number, points: number): Promise<void>;
  /**
   * Returns whether a `take` would be allowed, without counting; it may start a window. It is ordered after every earlier `take`, so that no
   * request passes before earlier requests are counted. Never rejects.
   */
  peek(key: string, bucket: string, limit: number, windowSeconds: number): Promise<RateLimitResult>;
  /** Closes the limiter's own connection, not the one it was duplicated from. */
  close(): Promise<void>;
}

/** Options of {@link createRateLimiter}. */
export interface RateLimiterOptions {
  /** Key of the installation, shared by its processes. The keys in Redis are HMACs with it, which do not reveal the counted callers. */
  readonly instanceKey: Buffer;
  readonly now?: () => number;
  /** A Redis slower than this counts as unavailable. */
  readonly commandTimeoutMs?: number;
  /** Logs once when Redis becomes unavailable and once when it recovers. */
  readonly logger?: RateLimiterLogger;
}

/** The part of a pino logger that is used. */
export interface RateLimiterLogger {
  warn(context: object, message: string): void;
}

/** Far longer than Redis takes to answer a busy process. During an outage only one request per second waits this long. */
const COMMAND_TIMEOUT_MS = 500;
/** After a failure Redis is not called for this long. Then one request tries it while the others keep counting in memory. */
const RETRY_AFTER_FAILURE_MS = 1000;
/** Disables the limit of the library. Counts are compared in this module, because limits differ by workspace and may change within a window. */
const UNLIMITED_POINTS = Number.MAX_SAFE_INTEGER;

/** The script of the library, with a count that stays at 0 when more is given back than was counted since the window began. */
const COUNT = `redis.call('set', KEYS[1], 0, 'EX', ARGV[2], 'NX')
local consumed = redis.call('incrby', KEYS[1], ARGV[1])
local ttl = redis.call('pttl', KEYS[1])
if ttl == -1 then
  redis.call('expire', KEYS[1], ARGV[2])
  ttl = 1000 * ARGV[2]
end
if consumed < 0 then
  consumed = redis.call('incrby', KEYS[1], -consumed)
end
return {consumed, ttl}`;

interface Window {
  readonly inRedis: RateLimiterRedis;
  readonly inMemory: RateLimiterMemory;
}

/** @param next cost of the request that is not counted yet; 0 when it is counted already */
function toResult(counted: RateLimiterRes, next: 0 | 1, limit: number, nowMs: number): RateLimitResult {
  const leftMs = Math.max(counted.msBeforeNext, 0);
  return {
    allowed: counted.consumedPoints + next <= limit,
    limit,
    remaining: Math.max(limit - counted.consumedPoints, 0),
    resetEpochSeconds: Math.ceil((nowMs + leftMs) / 1000),
    retryAfterSeconds: Math.max(Math.ceil(leftMs / 1000), 1),
  };
}

/** Resolves once the client is connected, or after `timeoutMs`. Requests before that wait for it instead of being counted in memory. */
function firstConnection(client: Redis, timeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, timeoutMs);
    client.once('ready', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** Creates a limiter that counts in Redis, with one round trip for each request. Opens a connection of its own with the settings of `redis`. */
export function createRateLimiter(redis: Redis, options: RateLimiterOptions): RateLimiter {
  const { now = Date.now, commandTimeoutMs = COMMAND_TIMEOUT_MS, logger } = options;
  const client = redis.duplicate({
    commandTimeout: commandTimeoutMs,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    lazyConnect: false,
    // Requests counted in the same turn of the event loop share one write to Redis.
    enableAutoPipelining: true,
  });
  // Without a listener ioredis prints every connection error to the console; requests report them.
  client.on('error', () => {});

  const prefix = keyPrefix(redis);
  const secret = createHmac('sha256', options.instanceKey).update('rate limits').digest();
  const storedKey = (key: string) => createHmac('sha256', secret).update(key).digest('base64url');

  let connecting: Promise<void> | undefined = firstConnection(client, commandTimeoutMs).finally(() => {
    connecting = undefined;
  });
  const windows = new Map<string, Window>();
  let isAvailable = true;
  /** By `performance.now()`, because the clock of the time of day may be set back. */
  let retryRedisAtMs = 0;

  function windowOf(bucket: string, windowSeconds: number): Window {
    const name = `${bucket}:${windowSeconds}`;
    const existing = windows.get(name);
    if (existing !== undefined) return existing;
    const common = { keyPrefix: `${prefix}waymark:limit:${name}`, points: UNLIMITED_POINTS, duration: windowSeconds };
    const made = {
      inRedis: new RateLimiterRedis({
        ...common,
        storeClient: client,
        rejectIfRedisNotReady: true,
        customIncrTtlLuaScript: COUNT,
      }),
      inMemory: new RateLimiterMemory(common),
    };
    windows.set(name, made);
    return made;
  }

  function setAvailable(available: boolean, cause?: unknown): void {
    if (!available) retryRedisAtMs = performance.now() + RETRY_AFTER_FAILURE_MS;
    if (available === isAvailable) return;
    isAvailable = available;
    if (available) logger?.warn({}, 'rate limits are counted in Redis again');
    else logger?.warn({ err: cause }, 'rate limits are counted in the memory of this process: Redis is unavailable');
  }

  /** Whether this request calls Redis; during an outage, one request a second does. */
  function shouldTryRedis(): boolean {
    if (isAvailable) return true;
    if (performance.now() < retryRedisAtMs) return false;
    retryRedisAtMs = performance.now() + RETRY_AFTER_FAILURE_MS;
    return true;
  }

  /** `peek` counts 0 points with the same command, because another command would not be ordered with the counts. */
  async function count(name: string, points: number, window: Window): Promise<RateLimiterRes> {
    const key = storedKey(name);
    if (connecting !== undefined) await connecting;
    if (shouldTryRedis()) {
      try {
        const counted = await window.inRedis.consume(key, points);
        setAvailable(true);
        return counted;
      } catch (err) {
        setAvailable(false, err);
      }
    }
    return window.inMemory.consume(key, points);
  }

  return {
    async take(key, bucket, limit, windowSeconds, points = 1) {
      return toResult(await count(key, points, windowOf(bucket, windowSeconds)), 0, limit, now());
    },
    async peek(key, bucket, limit, windowSeconds) {
      return toResult(await count(key, 0, windowOf(bucket, windowSeconds)), 1, limit, now());
    },
    async giveBack(key, bucket, windowSeconds, points) {
      await count(key, -points, windowOf(bucket, windowSeconds));
    },
    async close() {
      client.disconnect();
    },
  };
}
