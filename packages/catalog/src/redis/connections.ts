import type { Redis, RedisOptions } from 'ioredis';
import { type CatalogLogger, unavailable } from '../model/errors.js';

/** A read that Redis answers later than this is answered by ClickHouse instead. */
const READ_TIMEOUT_MS = 250;
const WRITE_TIMEOUT_MS = 2000;
/** After a timeout Redis is left alone for this long: a store that hangs must not slow every read down. */
const PAUSE_MS = 500;
/** A connection on which commands wait and nothing has been received for that long is dead, although it was not closed. */
export const SILENCE_MS_MAX = 5000;
const READY_WAIT_MS = 2000;

/** The catalog's own connections: one with a short time-out, one with a long one, and one that subscribes. */
export interface RedisConnections {
  /** The answer, or undefined when Redis is away, slow or failing. Never throws, never waits long: for caches. */
  tryRun<T>(command: (redis: Redis) => Promise<T>): Promise<T | undefined>;
  /** Whether `tryRun` would not even try now: Redis is known to be away, slow or failing. */
  isAway(): boolean;
  /** @throws ApiError 500 with `Retry-After` when Redis does not do it */
  run<T>(command: (redis: Redis) => Promise<T>): Promise<T>;
  readonly subscriber: Redis;
  close(): Promise<void>;
}

const COMMON: RedisOptions = {
  lazyConnect: false,
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
  connectTimeout: 2000,
  socketTimeout: SILENCE_MS_MAX,
  retryStrategy: (attempt) => Math.min(50 * 2 ** Math.min(attempt, 5), 1000),
};

/** Resolves once the connection can take commands; every caller waits on the same listener. */
function readiness(redis: Redis): () => Promise<void> {
  let waiting: Promise<void> | undefined;

  // Not events.once: that gives up at the first failed attempt to connect.
  const wait = () =>
    new Promise<void>((resolve, reject) => {
      const end = (settle: () => void) => {
        clearTimeout(timer);
        redis.off('ready', onReady);
        waiting = undefined;
        settle();
      };
      const onReady = () => end(resolve);
      const timer = setTimeout(() => end(() => reject(new Error(`Redis is ${redis.status}`))), READY_WAIT_MS);
      redis.on('ready', onReady);
    });

  return () => {
    if (redis.status === 'ready') return Promise.resolve();
    waiting ??= wait();
    return waiting;
  };
}

/** Opens the connections to the server that `template` is connected to. */
export function connectRedis(template: Redis, logger: CatalogLogger): RedisConnections {
  const reader = template.duplicate({ ...COMMON, commandTimeout: READ_TIMEOUT_MS });
  const writer = template.duplicate({ ...COMMON, commandTimeout: WRITE_TIMEOUT_MS });
  // The subscription is made anew whenever it is ready; see the change feed.
  const subscriber = template.duplicate({ ...COMMON, autoResubscribe: false });
  const connections = [reader, writer, subscriber];
  for (const redis of connections) watch(redis, logger);
  const writerReady = readiness(writer);
  /** Until when Redis is left alone after a failure; the first attempt after that keeps the others from it. */
  let pausedUntilMs = Number.NEGATIVE_INFINITY;
  let hasFailed = false;
  let isTrying = false;

  const isAway = () => reader.status !== 'ready' || (hasFailed && (isTrying || performance.now() < pausedUntilMs));

  return {
    subscriber,
    isAway,
    async tryRun(command) {
      if (isAway()) return undefined;
      isTrying = hasFailed;
      try {
        const answer = await command(reader);
        hasFailed = false;
        return answer;
      } catch (err) {
        hasFailed = true;
        pausedUntilMs = performance.now() + PAUSE_MS;
        logger.warn({ err }, 'catalog cache read failed; reading ClickHouse instead');
        return undefined;
      } finally {
        isTrying = false;
      }
    },
    async run(command) {
      try {
        await writerReady();
        return await command(writer);
      } catch (err) {
        throw unavailable('Redis', err);
      }
    },
    async close() {
      for (const redis of connections) redis.disconnect();
    },
  };
}

/** A single failed attempt, such as a ready check that times out on a busy machine, is repeated without a log line. */
const FAILURES_REPORTED_FROM = 2;

/** Logs one line for each outage. Without a listener ioredis prints every failed attempt to reconnect. */
function watch(redis: Redis, logger: CatalogLogger): void {
  let failures = 0;
  redis.on('error', (err) => {
    failures += 1;
    if (failures === FAILURES_REPORTED_FROM) logger.warn({ err }, 'catalog lost its connection to Redis');
  });
  redis.on('ready', () => {
    failures = 0;
  });
}
