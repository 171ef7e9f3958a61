import { createHmac } from 'node:crypto';
import type { Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis, type RateLimiterRes } from 'rate-limiter-flexible';

/** The state of the window after a counted request. */
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
   * @param key what is limited: the hash of an API key, an address, a link id. Redis stores a keyed digest of it
   * @param bucket which of its limits, such as `standard` or `analytics`
   * @param points what the request counts for, where one may do the work of several; at least 1
   */
  take(key: string, bucket: string, limit: number, windowSeconds: number, points?: number): Promise<RateLimitResult>;
  /**
   * What a `take` would return, without counting; a window may begin with it. It waits its turn behind every `take` before
   * it: no request gets past a limit by being quicker than the counts of those before it. Never rejects.
   */
  look(key: string, bucket: string, limit: number, windowSeconds: number): Promise<RateLimitResult>;
  /** Closes the limiter's own connection, not the one it was made from. */
  close(): Promise<void>;
}

export interface RateLimiterOptions {
  /** Of the installation, shared by all its processes: without it a reader of Redis cannot find out whose requests were counted. */
  readonly instanceKey: Buffer;
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
/** After a failure Redis is not called for this long, then by one request while the others go on. */
const RETRY_AFTER_FAILURE_MS = 1000;
/** The limit is not the limiter's: it differs by workspace and may change while a window runs. */
const UNLIMITED_POINTS = Number.MAX_SAFE_INTEGER;

interface Window {
  readonly inRedis: RateLimiterRedis;
  readonly inMemory: RateLimiterMemory;
}

/** @param next what the request will count for that is answered; 0 when that is counted already */
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
export function createRateLimiter(redis: Redis, options: RateLimiterOptions): RateLimiter {
  const { now = Date.now, commandTimeoutMs = COMMAND_TIMEOUT_MS, logger } = options;
  const client = redis.duplicate({
    commandTimeout: commandTimeoutMs,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    lazyConnect: false,
    // Requests that are counted in the same turn of the event loop share one write to Redis.
    enableAutoPipelining: true,
  });
  // Without a listener ioredis writes every refused connection to the console; the requests report it.
  client.on('error', () => {});

  const secret = createHmac('sha256', options.instanceKey).update('rate limits').digest();
  const storedKey = (key: string) => createHmac('sha256', secret).update(key).digest('base64url');

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

  /** Whether this request calls Redis; while it is away, one request at a time does. */
  function mayAskRedis(): boolean {
    if (isAvailable) return true;
    if (now() < askAgainAt) return false;
    askAgainAt = now() + RETRY_AFTER_FAILURE_MS;
    return true;
  }

  /** Nothing is counted as nothing, by the same command: another one would not keep its place among the counts. */
  async function count(name: string, points: number, window: Window): Promise<RateLimiterRes> {
    const key = storedKey(name);
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
    async take(key, bucket, limit, windowSeconds, points = 1) {
      return toResult(await count(key, points, windowOf(bucket, windowSeconds)), 0, limit, now());
    },
    async look(key, bucket, limit, windowSeconds) {
      return toResult(await count(key, 0, windowOf(bucket, windowSeconds)), 1, limit, now());
    },
    async close() {
      client.disconnect();
    },
  };
}
