import { createReplication, keyPrefix } from '@waymark/redis';
import type { Redis, RedisOptions } from 'ioredis';
import { type CatalogLogger, unavailable } from '../model/errors.js';

/** A read that Redis does not answer in this time is answered by ClickHouse instead. */
const READ_TIMEOUT_MS = 250;
const WRITE_TIMEOUT_MS = 2000;
/** After a timeout Redis is not queried for this long, so that a hanging Redis does not delay every read. */
const PAUSE_MS = 500;
/** A connection with pending commands on which nothing has been received for this long is considered dead. */
export const SILENCE_MS_MAX = 5000;
const READY_WAIT_MS = 2000;

/** Two connections to one Redis: one with a short command timeout, one with a long one. */
export interface CommandConnections {
  /** For caches: the answer, or undefined when Redis is unavailable, slow or failing. Never throws, never waits long. */
  tryRun<T>(command: (redis: Redis) => Promise<T>): Promise<T | undefined>;
  /** Whether `tryRun` would return undefined without trying, because Redis has just failed or is not connected. */
  isAway(): boolean;
  /** @throws ApiError 500 with `Retry-After` when Redis does not execute the command, or its replicas do not confirm it */
  run<T>(command: (redis: Redis) => Promise<T>): Promise<T>;
  close(): void;
}

/** The catalog's own connections: those for commands, and one for subscriptions. */
export interface RedisConnections extends CommandConnections {
  readonly subscriber: Redis;
  /** What the names of keys begin with. */
  readonly keyPrefix: string;
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

  // Not events.once, which rejects at the first failed attempt to connect.
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

/**
 * Opens connections for commands to the server that `template` is connected to.
 *
 * @param waitReplicas how many replicas must confirm what `run` writes
 */
export function openCommandConnections(
  template: Redis,
  waitReplicas: number,
  logger: CatalogLogger,
): CommandConnections & { readonly writer: Redis } {
  const reader = template.duplicate({ ...COMMON, commandTimeout: READ_TIMEOUT_MS });
  const writer = template.duplicate({ ...COMMON, commandTimeout: WRITE_TIMEOUT_MS });
  for (const redis of [reader, writer]) watch(redis, logger);
  const writerReady = readiness(writer);
  const replication = createReplication(writer, waitReplicas);
  /** Until when Redis is not queried after a failure. While the first attempt after that runs, no other is made. */
  let pausedUntilMs = Number.NEGATIVE_INFINITY;
  let hasFailed = false;
  let isTrying = false;

  const isAway = () => reader.status !== 'ready' || (hasFailed && (isTrying || performance.now() < pausedUntilMs));

  return {
    writer,
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
        return await replication.confirmed(() => command(writer));
      } catch (err) {
        throw unavailable('Redis', err);
      }
    },
    close() {
      for (const redis of [reader, writer]) redis.disconnect();
    },
  };
}

/** Opens the catalog's connections to the server that `template` is connected to; see {@link openCommandConnections}. */
export function openConnections(template: Redis, waitReplicas: number, logger: CatalogLogger): RedisConnections {
  const { writer, ...commands } = openCommandConnections(template, waitReplicas, logger);
  // Not automatic: the change feed subscribes again whenever the connection is ready.
  const subscriber = template.duplicate({ ...COMMON, autoResubscribe: false });
  watch(subscriber, logger);
  // A node of a cluster that has become a replica sends MOVED for commands with keys, of which the subscriber has none.
  const followWriter = () => subscriber.disconnect(true);
  if (keyPrefix(template) !== '') writer.on('close', followWriter);
  return {
    ...commands,
    subscriber,
    keyPrefix: keyPrefix(template),
    close() {
      writer.off('close', followWriter);
      commands.close();
      subscriber.disconnect();
    },
  };
}

/** A single failed attempt to connect, such as a ready check that times out on a busy machine, is not logged. */
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
