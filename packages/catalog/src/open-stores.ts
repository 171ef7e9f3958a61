import { type ClickHouseClient, createClickHouseClient } from '@waymark/clickhouse';
import { connectRedis } from '@waymark/redis';
import type { Redis } from 'ioredis';
import { type Catalog, createCatalog } from './catalog.js';
import type { CatalogLogger } from './model/errors.js';
import { SILENCE_MS_MAX } from './redis/connections.js';

/** Where the stores are, and how to connect to them. */
export interface StoreSettings {
  readonly redisUrl: string | undefined;
  /** URLs of the queue shards from 1 on; `redisUrl` is shard 0. */
  readonly queueShards: readonly string[];
  /** How many replicas of Redis must have a write before it counts as done. */
  readonly redisWaitReplicas: number;
  readonly clickhouseUrl: string | undefined;
  readonly clickhouseUser: string | undefined;
  readonly clickhousePassword: string | undefined;
  readonly clickhouseDatabase: string;
  readonly clickhouseCluster: string | undefined;
  /** Public origin of the API. */
  readonly baseUrl: string;
}

/** The keys of the installation. */
export interface StoreKeys {
  /** Seals link passwords, webhook secrets and credentials of scheduled exports and of imports. */
  readonly current: Buffer;
  /** Open what they have sealed. */
  readonly others: readonly Buffer[];
}

/** A Redis with the queue of some workspaces. */
export interface QueueStore {
  readonly url: string;
  readonly redis: Redis;
}

export interface Stores {
  readonly redisUrl: string;
  readonly redis: Redis;
  /** By number of the queue shard; the first is that of `redis`. */
  readonly queues: readonly QueueStore[];
  readonly clickhouse: ClickHouseClient;
  readonly catalog: Catalog;
  /** Closes catalog, Redis and ClickHouse, in that order. Close their users first. */
  close(): Promise<void>;
}

/** How long a request waits for a Redis that does not respond. */
const COMMAND_TIMEOUT_MS = 2000;

function connect(url: string, logger: CatalogLogger): Redis {
  const redis = connectRedis(url, {
    enableOfflineQueue: false,
    // ioredis must not retry commands: the caller may have handled the failure already.
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    commandTimeout: COMMAND_TIMEOUT_MS,
    socketTimeout: SILENCE_MS_MAX,
  });
  redis.on('error', (err) => logger.warn({ err }, 'redis'));
  return redis;
}

/**
 * Opens Redis, ClickHouse and the catalog of a service.
 *
 * @throws Error when the URL of a store is missing
 */
export function openStores(settings: StoreSettings, instanceKeys: StoreKeys, logger: CatalogLogger): Stores {
  const { redisUrl, clickhouseUrl } = settings;
  if (redisUrl === undefined || clickhouseUrl === undefined) {
    throw new Error('REDIS_URL and CLICKHOUSE_URL are required by a service that runs on its own');
  }
  const redis = connect(redisUrl, logger);
  const otherQueues = settings.queueShards.map((url) => ({ url, redis: connect(url, logger) }));
  const clickhouse = createClickHouseClient({
    url: clickhouseUrl,
    user: settings.clickhouseUser,
    password: settings.clickhousePassword,
    database: settings.clickhouseDatabase,
  });
  const catalog = createCatalog({
    redis,
    queueShards: otherQueues.map((queue) => queue.redis),
    clickhouse,
    instanceKey: instanceKeys.current,
    otherInstanceKeys: instanceKeys.others,
    now: Date.now,
    logger,
    baseUrl: settings.baseUrl,
    waitReplicas: settings.redisWaitReplicas,
    isReplicated: settings.clickhouseCluster !== undefined,
  });
  const queues = [{ url: redisUrl, redis }, ...otherQueues];
  return {
    redisUrl,
    redis,
    queues,
    clickhouse,
    catalog,
    async close() {
      await catalog.close();
      for (const queue of queues) queue.redis.disconnect();
      await clickhouse.close();
    },
  };
}
