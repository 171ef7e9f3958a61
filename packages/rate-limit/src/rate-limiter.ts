import type { Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis, type RateLimiterRes } from 'rate-limiter-flexible';

/** What a counted request learns of its window. */
export interface RateLimitResult {
  readonly allowed: boolean;
  readonly limit: number;
  /** Requests left in the window, never negative. */
  readonly remaining: number;
  /** When the window ends, UTC epoch seconds, rounded up. */
  readonly resetEpochSeconds: number;
  /** Whole seconds until then, at least 1. */
  readonly retryAfterSeconds: number;
}

export interface RateLimiter {
  /**
   * Counts one request of `key` in a fixed window that starts with the first one counted. Never rejects: while Redis is
   * away this process counts for itself.
   *
   * @param key what is limited: the hash of an API key, an address, a link id; never a secret itself
   * @param bucket which of its limits, such as `standard` or `analytics`
   */
  take(key: string, bucket: string, limit: number, windowSeconds: number): Promise<RateLimitResult>;
  /**
   * What a `take` would be told, without counting; a window may begin with it. It waits its turn behind every `take` before
   * it: no request gets past a limit by being quicker than the counts of those before it. Never rejects.
   */
  look(key: string, bucket: string, limit: number, windowSeconds: number): Promise<RateLimitResult>;
  /** Closes the limiter's own connection, not the one it was made from. */
  close(): Promise<void>;
}

export interface RateLimiterOptions {
  readonly now?: () => number;
  /** A Redis slower than this counts as away. */
  readonly commandTimeoutMs?: number;
  /** Told when Redis stops and starts answering, once each. */
  readonly logger?: RateLimiterLogger;
}

/** The part of a pino logger that is used. */
export interface RateLimiterLogger {
  warn(context: object, message: string): void;
}

/** Far above what a busy process needs; only one request a second ever waits for it. */
const COMMAND_TIMEOUT_MS = 500;
/** After a failure Redis is left alone this long, then asked by one request while the others go on. */
const RETRY_AFTER_FAILURE_MS = 1000;
/** The limit is not the limiter's: it differs by workspace and may change while a window runs. */
const UNLIMITED_POINTS = Number.MAX_SAFE_INTEGER;

interface Window {
  readonly inRedis: RateLimiterRedis;
  readonly inMemory: RateLimiterMemory;
}

/** @param points what was counted just now: 1, or 0 by a look, which answers for the request that would be next */
function toResult(counted: RateLimiterRes, points: 0 | 1, limit: number, nowMs: number): RateLimitResult {
  const leftMs = Math.max(counted.msBeforeNext, 0);
  return {
    allowed: counted.consumedPoints + 1 - points <= limit,
    limit,
    remaining: Math.max(limit - counted.consumedPoints, 0),
    resetEpochSeconds: Math.ceil((nowMs + leftMs) / 1000),
    retryAfterSeconds: Math.max(Math.ceil(leftMs / 1000), 1),
  };
}

/** Resolves once connected, or after `timeoutMs`: requests that come first wait for it rather than count elsewhere. */
function firstConnection(client: Redis, timeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, timeoutMs);
    client.once('ready', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** Rate limits in Redis, one round trip each; opens a connection of its own from the settings of `redis`. */
export function createRateLimiter(redis: Redis, options: RateLimiterOptions = {}): RateLimiter {
  const { now = Date.now, commandTimeoutMs = COMMAND_TIMEOUT_MS, logger } = options;
  const client = redis.duplicate({
    commandTimeout: commandTimeoutMs,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    lazyConnect: false,
    // Requests that are counted in the same turn of the event loop share one write to Redis.
    enableAutoPipelining: true,
  });
  // Without a listener ioredis writes every refused connection to the console; requests tell us soon enough.
  client.on('error', () => {});

  let connecting: Promise<void> | undefined = firstConnection(client, commandTimeoutMs).finally(() => {
    connecting = undefined;
  });
  const windows = new Map<string, Window>();
  let isAvailable = true;
  let askAgainAt = 0;

  function windowOf(bucket: string, windowSeconds: number): Window {
    const name = `${bucket}:${windowSeconds}`;
    const existing = windows.get(name);
    if (existing !== undefined) return existing;
    const common = { keyPrefix: `waymark:limit:${name}`, points: UNLIMITED_POINTS, duration: windowSeconds };
    const made = {
      inRedis: new RateLimiterRedis({ ...common, storeClient: client, rejectIfRedisNotReady: true }),
      inMemory: new RateLimiterMemory(common),
    };
    windows.set(name, made);
    return made;
  }

  function setAvailable(available: boolean, cause?: unknown): void {
    if (!available) askAgainAt = now() + RETRY_AFTER_FAILURE_MS;
    if (available === isAvailable) return;
    isAvailable = available;
    if (available) logger?.warn({}, 'rate limits are counted in Redis again');
    else logger?.warn({ err: cause }, 'rate limits are counted by this process alone: Redis does not answer');
  }

  /** Whether this request asks Redis; while it is away the first one that may keeps the others from it. */
  function mayAskRedis(): boolean {
    if (isAvailable) return true;
    if (now() < askAgainAt) return false;
    askAgainAt = now() + RETRY_AFTER_FAILURE_MS;
    return true;
  }

  /** Nothing is counted as nothing, by the same command: another one would not keep its place among the counts. */
  async function count(key: string, points: 0 | 1, window: Window): Promise<RateLimiterRes> {
    if (connecting !== undefined) await connecting;
    if (mayAskRedis()) {
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
    async take(key, bucket, limit, windowSeconds) {
      return toResult(await count(key, 1, windowOf(bucket, windowSeconds)), 1, limit, now());
    },
    async look(key, bucket, limit, windowSeconds) {
      return toResult(await count(key, 0, windowOf(bucket, windowSeconds)), 0, limit, now());
    },
    async close() {
      client.disconnect();
    },
  };
}
