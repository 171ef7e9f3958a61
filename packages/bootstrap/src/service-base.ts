import { type InstanceKeys, keyMarks, readAdminKeys, readInstanceKeys, type Settings } from '@waymark/config';
import { type ClaimAdmin, createClaimAdmin } from '@waymark/event-queue';
import type { App, CreateAppOptions, Logger } from '@waymark/http-kit';
import {
  metricsRoute,
  type Operations,
  type OperationsOptions,
  startOperations,
  startTracing,
} from '@waymark/observability';
import { createRateLimiter, type RateLimiter } from '@waymark/rate-limit';
import { checkWritable } from '@waymark/redis';
import { checkShards } from './check-shards.js';
import { openStores, type Stores } from './open-stores.js';

/** Options of {@link startServiceBase}. */
export interface ServiceBaseOptions extends Pick<OperationsOptions, 'spoolDirectory' | 'isWriter'> {
  /** Name of the service in metrics and traces: http, ingest, query, management or writer. */
  readonly service: string;
  readonly settings: Settings;
  readonly logger: Logger;
}

/** The stores, keys and operations that every service uses. */
export interface ServiceBase extends Pick<Stores, 'redisUrl' | 'redis' | 'queues' | 'clickhouse' | 'catalog'> {
  readonly instanceKeys: InstanceKeys;
  readonly adminKeys: readonly string[];
  readonly rateLimiter: RateLimiter;
  readonly operations: Operations;
  /** Options of the service's Fastify apps, without its readiness checks. */
  readonly appOptions: Omit<CreateAppOptions, 'readiness'>;
  /** The claims of a workspace, in the Redis of its queue. @throws ApiError 500 when the workspace cannot be read, or QUEUE_SHARDS does not name its shard */
  claimsOf(workspaceId: string): Promise<ClaimAdmin>;
  /** Rejects when Redis takes no writes. */
  checkRedis(): Promise<unknown>;
  /** Rejects when ClickHouse does not answer. */
  checkClickHouse(): Promise<unknown>;
  /** Adds `GET /metrics`, behind the admin key. */
  addMetrics(app: App): void;
  /** Closes metrics, rate limits and stores. Call it after everything that uses them is closed. */
  close(): Promise<void>;
}

/**
 * Opens the stores, checks the queue shards, and starts rate limits, metrics and tracing.
 *
 * @throws ShardMismatchError when a queue shard is not the one of the installation
 */
export async function startServiceBase(options: ServiceBaseOptions): Promise<ServiceBase> {
  const { settings, logger, ...rest } = options;
  const instanceKeys = readInstanceKeys(settings);
  const adminKeys = readAdminKeys(settings);
  const stores = openStores(settings, instanceKeys, logger);
  const { redisUrl, redis, queues, clickhouse, catalog } = stores;
  try {
    await checkShards(queues, logger);
  } catch (err) {
    await stores.close();
    throw err;
  }
  const rateLimiter = createRateLimiter(redis, { instanceKey: instanceKeys.deriving, logger });
  const tracing = await startTracing(options);
  const operations = startOperations({
    ...rest,
    keys: keyMarks(instanceKeys),
    tracing,
    redis,
    otherQueueShards: queues.slice(1).map((queue) => queue.redis),
    clickhouse,
    catalogLookups: catalog.lookups,
    spoolBytesMax: settings.spoolBytesMax,
    waitReplicas: settings.redisWaitReplicas,
    clickhouseCluster: settings.clickhouseCluster,
    logger,
  });
  const claims = queues.map((queue) => createClaimAdmin(queue.redis, { waitReplicas: settings.redisWaitReplicas }));
  const { docBase, baseUrl, trustedProxies, requireHttps } = settings;
  return {
    redisUrl,
    redis,
    queues,
    clickhouse,
    catalog,
    claimsOf: (workspaceId) => catalog.queueShards.pick(claims, workspaceId),
    instanceKeys,
    adminKeys,
    rateLimiter,
    operations,
    appOptions: { logger, docBase, baseUrl, trustedProxies, requireHttps },
    checkRedis: () => checkWritable(redis),
    checkClickHouse: () => clickhouse.command({ query: 'SELECT 1' }),
    addMetrics: (app) => void app.register(metricsRoute, { operations, adminKeys, rateLimiter }),
    async close() {
      await operations.close();
      await rateLimiter.close();
      await stores.close();
    },
  };
}
