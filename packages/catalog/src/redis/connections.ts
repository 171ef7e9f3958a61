import { isOutOfMemory } from '@waymark/event-queue';
import { createReplication, keyPrefix } from '@waymark/redis';
import type { Redis, RedisOptions } from 'ioredis';
import { type CatalogLogger, unavailable } from '../model/errors.js';
import { reconnectWith } from './reconnect-with.js';

/** After this time without an answer of Redis, a read goes to ClickHouse instead. */
const READ_TIMEOUT_MS = 250;
const WRITE_TIMEOUT_MS = 2000;
/** After a timeout Redis is not queried for this long, so that a hanging Redis does not delay every read. */
const PAUSE_MS = 500;
/** A connection with pending commands on which nothing has been received for this long is considered dead. */
const SILENCE_MS_MAX = 5000;
/**
 * `tryRead` reads a queue shard for this long after a confirmation of replicas, as long as a lease lasts. On shard 0 the renewals
 * of the lease get these confirmations.
 */
const CONFIRMED_MS = 1_500;
/** How long a command waits for a connection. */
const READY_WAIT_MS = 2000;

/** Two connections to one Redis: one with a short command timeout, one with a long one. */
export interface CommandConnections {
  /** Runs a command. Resolves with undefined when Redis is away, slow or failing. Never throws, and waits 250 ms at most. */
  tryRun<T>(command: (redis: Redis) => Promise<T>): Promise<T | undefined>;
  /**
   * Like `tryRun`, for answers that must include every acknowledged write. Resolves with undefined also if replicas must confirm writes and
   * the last `run` failed, or is too long ago: the server may be a former master, which lacks what the next one has acknowledged.
   */
  tryRead<T>(command: (redis: Redis) => Promise<T>): Promise<T | undefined>;
  /** Whether `tryRun` would return undefined without trying, because Redis has just failed or is not connected. */
  isAway(): boolean;
  /** Whether `tryRead` would send its command. */
  isReadable(): boolean;
  /** Runs a command. @throws ApiError 500 with `Retry-After` when Redis does not execute it, or its replicas do not confirm it */
  run<T>(command: (redis: Redis) => Promise<T>): Promise<T>;
  /** Runs a command if the connection is open, and does without the confirmation of replicas. @throws the error of Redis or the connection */
  runAtOnce<T>(command: (redis: Redis) => Promise<T>): Promise<T>;
  close(): void;
}

/** The catalog's own connections: two for commands, and one for subscriptions. */
export interface RedisConnections extends CommandConnections {
  readonly subscriber: Redis;
  /** See `keyPrefix` of `packages/redis`. */
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

/** Creates a function that resolves once the connection can take commands. All callers share one listener. */
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
 * @param confirmedMsMax for how long after a confirmation `tryRead` reads
 */
export function openCommandConnections(
  template: Redis,
  waitReplicas: number,
  logger: CatalogLogger,
  confirmedMsMax = CONFIRMED_MS,
): CommandConnections & { readonly writer: Redis } {
  const reader = template.duplicate({ ...COMMON, commandTimeout: READ_TIMEOUT_MS });
  const writer = template.duplicate({ ...COMMON, commandTimeout: WRITE_TIMEOUT_MS });
  for (const redis of [reader, writer]) watch(redis, logger);
  const writerReady = readiness(writer);
  const replication = createReplication(writer, waitReplicas);
  /** After a failure, `tryRun` sends nothing until this time. Then it sends one command, and no other before that one is answered. */
  let pausedUntilMs = Number.NEGATIVE_INFINITY;
  let hasFailed = false;
  let isTrying = false;

  /** When the last command of `run` that replicas have confirmed began; undefined: the last one failed. */
  let confirmedMs: number | undefined = Number.NEGATIVE_INFINITY;

  const isAway = () => reader.status !== 'ready' || (hasFailed && (isTrying || performance.now() < pausedUntilMs));

  const isConfirmed = () => confirmedMs !== undefined && performance.now() - confirmedMs <= confirmedMsMax;
  const isReadable = () => (!replication.isOn || isConfirmed()) && !isAway();

  async function tryRun<T>(command: (redis: Redis) => Promise<T>): Promise<T | undefined> {
    if (isAway()) return undefined;
    isTrying = hasFailed;
    try {
      const answer = await command(reader);
      hasFailed = false;
      return answer;
    } catch (err) {
      hasFailed = true;
      pausedUntilMs = performance.now() + PAUSE_MS;
      logger.warn({ err }, 'a command of the catalog to Redis failed; the catalog does without its answer');
      return undefined;
    } finally {
      isTrying = false;
    }
  }

  return {
    writer,
    isAway,
    isReadable,
    tryRun,
    tryRead: async (command) => (isReadable() ? tryRun(command) : undefined),
    async run(command) {
      try {
        await writerReady();
        const startedMs = performance.now();
        const answer = await replication.confirmed(() => command(writer));
        confirmedMs = startedMs;
        return answer;
      } catch (err) {
        // After every other failure, too: with `min-replicas-to-write` a master without replicas refuses the command. A full one does not
        // lack anything.
        if (!isOutOfMemory(err)) confirmedMs = undefined;
        throw unavailable('Redis', err);
      }
    },
    runAtOnce: (command) => command(writer),
    close() {
      for (const redis of [reader, writer]) redis.disconnect();
    },
  };
}

/** Opens the catalog's connections to the server that `template` is connected to; see {@link openCommandConnections}. */
export function openConnections(template: Redis, waitReplicas: number, logger: CatalogLogger): RedisConnections {
  const { writer, ...commands } = openCommandConnections(template, waitReplicas, logger, Number.POSITIVE_INFINITY);
  // Not automatic: the change feed subscribes again whenever the connection is ready. Without a command timeout, because Node.js runs the timers of
  // a process that stood still before it reads the answers; the connection closes if nothing is received.
  const subscriber = template.duplicate({ ...COMMON, autoResubscribe: false, commandTimeout: undefined });
  watch(subscriber, logger);
  // A server that has become a replica refuses writes, on a cluster with MOVED, and the connection closes. The subscriber sends no writes, and
  // through that server it may receive changes late or not at all, so it reconnects whenever the writer does.
  const endFollowing = reconnectWith(writer, subscriber);
  return {
    ...commands,
    subscriber,
    keyPrefix: keyPrefix(template),
    close() {
      endFollowing();
      commands.close();
      subscriber.disconnect();
    },
  };
}

/** An outage is logged with its second error: a single one may be a ready check that times out on a busy machine. */
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
