import { type Catalog, createCatalog } from '@waymark/catalog';
import { type ClickHouseClient, createClickHouseClient } from '@waymark/clickhouse';
import type { InstanceKeys, Settings } from '@waymark/config';
import type { Logger } from '@waymark/http-kit';
import { connectRedis } from '@waymark/redis';
import type { Redis } from 'ioredis';

/** The addresses of the stores, and the credentials for them. */
type StoreSettings = Pick<
  Settings,
  | 'redisUrl'
  | 'otherQueueShards'
  | 'redisWaitReplicas'
  | 'clickhouseUrl'
  | 'clickhouseUser'
  | 'clickhousePassword'
  | 'clickhouseDatabase'
  | 'clickhouseCluster'
  | 'baseUrl'
>;

/** A queue shard. */
export interface QueueShard {
  readonly url: string;
  readonly redis: Redis;
}

/** The open stores of a service. */
export interface Stores {
  readonly redisUrl: string;
  readonly redis: Redis;
  /** The queue shards by number; shard 0 is `redis`. */
  readonly queues: readonly QueueShard[];
  readonly clickhouse: ClickHouseClient;
  readonly catalog: Catalog;
  /** Closes the catalog, Redis and ClickHouse, in that order. Before this, stop everything that uses them. */
  close(): Promise<void>;
}

/** How long a command waits for an answer of Redis. */
const COMMAND_TIMEOUT_MS = 2000;
/** A connection with pending commands on which nothing has been received for this long is considered dead. */
const SILENCE_MS_MAX = 5000;

function connect(url: string, logger: Pick<Logger, 'warn'>): Redis {
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
export function openStores(
  settings: StoreSettings,
  instanceKeys: Pick<InstanceKeys, 'current' | 'others'>,
  logger: Pick<Logger, 'warn'>,
): Stores {
  const { redisUrl, clickhouseUrl } = settings;
  if (redisUrl === undefined || clickhouseUrl === undefined) {
    throw new Error('REDIS_URL and CLICKHOUSE_URL are required by a service that runs on its own');
  }
  const redis = connect(redisUrl, logger);
  const otherQueues = settings.otherQueueShards.map((url) => ({ url, redis: connect(url, logger) }));
  const clickhouse = createClickHouseClient({
    url: clickhouseUrl,
    user: settings.clickhouseUser,
    password: settings.clickhousePassword,
    database: settings.clickhouseDatabase,
  });
  const catalog = createCatalog({
    redis,
    otherQueueShards: otherQueues.map((queue) => queue.redis),
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
