import { type Catalog, createCatalog } from '@waymark/catalog';
import { type ClickHouseClient, createClickHouseClient } from '@waymark/clickhouse';
import { loadSettings, type RunState, readInstanceKeys, readRunState, type Settings } from '@waymark/config';
import { connectRedis as connect } from '@waymark/redis';
import type { Redis } from 'ioredis';
import { CommandError } from './command-error.js';
import { printStatus } from './output.js';
import { readStackLock } from './stack-lock.js';

/** The installation that a command works on. */
export interface Target {
  readonly settings: Settings;
  /** The running stack on DATA_DIR, if any. */
  readonly stack: RunState | undefined;
}

/** The settings of the environment, and the running stack on its DATA_DIR. A supervisor that was killed leaves its run state file behind. */
export function findTarget(): Target {
  const settings = loadSettings();
  const stack = readRunState(settings.dataDir);
  const lock = readStackLock(settings.dataDir);
  const isRunning = lock?.isAlive === true && lock.pid === stack?.pids.supervisor;
  return { settings, stack: isRunning ? stack : undefined };
}

function storeUrl(
  configured: string | undefined,
  running: string | undefined,
  variable: string,
  target: Target,
): string {
  const url = configured ?? running;
  if (url !== undefined) return url;
  throw new CommandError(
    `no stack is running on ${target.settings.dataDir}: start it with \`npm run up\`, set DATA_DIR, or set ${variable}`,
  );
}

/** REDIS_URL, or else the Redis of the running stack. @throws CommandError when there is neither */
function redisUrl(target: Target): string {
  return storeUrl(target.settings.redisUrl, target.stack?.redis, 'REDIS_URL', target);
}

/** CLICKHOUSE_URL, or else the ClickHouse of the running stack. @throws CommandError when there is neither */
function clickhouseUrl(target: Target): string {
  return storeUrl(target.settings.clickhouseUrl, target.stack?.clickhouse, 'CLICKHOUSE_URL', target);
}

/** Connects to a Redis without reconnecting; commands fail after 15 s. @param url REDIS_URL, or else the Redis of the running stack, by default */
export function connectRedis(target: Target, url = redisUrl(target)): Redis {
  const redis = connect(url, {
    maxRetriesPerRequest: 1,
    retryStrategy: () => null,
    connectTimeout: 5_000,
    // Without this limit a Redis that hangs would keep the command waiting for ever.
    commandTimeout: 15_000,
  });
  // The pending command reports the error; this listener only prevents an uncaught exception.
  redis.on('error', () => undefined);
  return redis;
}

/** Runs `work` with a client for the ClickHouse of the installation. */
export async function withClickHouse<T>(target: Target, work: (client: ClickHouseClient) => Promise<T>): Promise<T> {
  const { clickhouseUser: user, clickhousePassword: password, clickhouseDatabase: database } = target.settings;
  const client = createClickHouseClient({ url: clickhouseUrl(target), user, password, database });
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

/** Connections to the queue shards, by number; shard 0 is that of REDIS_URL, which has the records' caches too. */
export type Queues = readonly [Redis, ...Redis[]];

/** Runs `work` with a connection to each queue shard. */
export async function withQueues<T>(target: Target, work: (queues: Queues) => Promise<T>): Promise<T> {
  const redis = connectRedis(target);
  const queues: Queues = [redis, ...target.settings.otherQueueShards.map((url) => connectRedis(target, url))];
  try {
    return await work(queues);
  } finally {
    for (const queue of queues) queue.disconnect();
  }
}

const WARNING_EVERY_MS = 10_000;

/** Prints each warning at most every ten seconds, because a slow store would cause it for each record. */
function createWarnings() {
  const printedAtMs = new Map<string, number>();
  return (message: string): void => {
    const nowMs = performance.now();
    if (nowMs - (printedAtMs.get(message) ?? Number.NEGATIVE_INFINITY) < WARNING_EVERY_MS) return;
    printedAtMs.set(message, nowMs);
    printStatus(message);
  };
}

/** The connections of a catalog. */
export interface OpenStores {
  readonly queues: Queues;
  readonly clickhouse: ClickHouseClient;
}

/**
 * Opens the catalog, runs `work`, and closes all connections.
 *
 * @param cachedMax maximum number of records of each type that are cached; lower for commands that read many records once
 */
export async function withCatalog<T>(
  work: (catalog: Catalog, stores: OpenStores) => Promise<T>,
  cachedMax?: number,
): Promise<T> {
  const target = findTarget();
  const { settings, stack } = target;
  return withQueues(target, (queues) =>
    withClickHouse(target, async (clickhouse) => {
      const [redis, ...otherQueueShards] = queues;
      const instanceKeys = readInstanceKeys(settings);
      const warn = createWarnings();
      const catalog = createCatalog({
        redis,
        otherQueueShards,
        clickhouse,
        now: Date.now,
        instanceKey: instanceKeys.current,
        otherInstanceKeys: instanceKeys.others,
        logger: { warn: (_context, message) => warn(message) },
        baseUrl: stack?.api ?? settings.baseUrl,
        isReplicated: settings.clickhouseCluster !== undefined,
        waitReplicas: settings.redisWaitReplicas,
        cachedMax,
      });
      try {
        return await work(catalog, { queues, clickhouse });
      } finally {
        await catalog.close();
      }
    }),
  );
}
