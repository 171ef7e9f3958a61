import { type ClickHouseClient, createClickHouseClient } from '@waymark/clickhouse';
import { connectRedis } from '@waymark/redis';
import type { Redis } from 'ioredis';
import { type Catalog, createCatalog } from './catalog.js';
import type { CatalogLogger } from './model/errors.js';
import { SILENCE_MS_MAX } from './redis/connections.js';

/** The addresses of the stores and the credentials for them (docs/settings.md). */
export interface StoreSettings {
  readonly redisUrl: string | undefined;
  /** URLs of the queue shards from 1 on; `redisUrl` is shard 0. */
  readonly queueShards: readonly string[];
  /** How many replicas of Redis must confirm a write before it counts as done. */
  readonly redisWaitReplicas: number;
  readonly clickhouseUrl: string | undefined;
  readonly clickhouseUser: string | undefined;
  readonly clickhousePassword: string | undefined;
  readonly clickhouseDatabase: string;
  readonly clickhouseCluster: string | undefined;
  /** Public origin of the API. */
  readonly baseUrl: string;
}

/** The instance keys; see `CatalogOptions`. */
export interface StoreKeys {
  readonly current: Buffer;
  /** Further keys, which only decrypt values that they have encrypted. */
  readonly others: readonly Buffer[];
}

/** A queue shard. */
export interface QueueStore {
  readonly url: string;
  readonly redis: Redis;
}

/** The open stores of a service. */
export interface Stores {
  readonly redisUrl: string;
  readonly redis: Redis;
  /** The queue shards by number; shard 0 is `redis`. */
  readonly queues: readonly QueueStore[];
  readonly clickhouse: ClickHouseClient;
  readonly catalog: Catalog;
  /** Closes the catalog, Redis and ClickHouse, in that order. Before this, stop everything that uses them. */
  close(): Promise<void>;
}

/** How long a command waits for an answer of Redis. */
const COMMAND_TIMEOUT_MS = 2000;

function connect(url: string, logger: CatalogLogger): Redis {
  const redis = connectRedis(url, {
    enableOfflineQueue: false,
    // ioredis must not repeat commands, because the caller may have handled the failure already.
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
