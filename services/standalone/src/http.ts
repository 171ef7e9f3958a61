import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createCatalog } from '@waymark/catalog';
import { createClickHouseClient } from '@waymark/clickhouse';
import { describeSettings, loadSettings, readInstanceKey, type Settings, SettingsError } from '@waymark/config';
import { createEventProducer } from '@waymark/event-queue';
import {
  type App,
  authPlugin,
  type CreateAppOptions,
  createApp,
  createLogger,
  type Logger,
  runService,
  type Service,
} from '@waymark/http-kit';
import { buildLinkApp, createIngestDeps, trackRoutes } from '@waymark/ingest';
import { managementRoutes } from '@waymark/management';
import { queryRoutes } from '@waymark/query';
import { createRateLimiter } from '@waymark/rate-limit';
import { Redis } from 'ioredis';

const CONNECT_PATIENCE_MS = 5_000;

/** A request that comes before the first connection is made would be refused. A store that is away is not waited for. */
async function untilConnected(checks: readonly (() => Promise<unknown>)[]): Promise<void> {
  const patienceEnds = performance.now() + CONNECT_PATIENCE_MS;
  for (const check of checks) {
    while (performance.now() < patienceEnds) {
      const isThere = await check().then(
        () => true,
        () => false,
      );
      if (isThere) break;
      await sleep(10);
    }
  }
}

/** The HTTP services in one process: management, query and `/track` on the API port, redirects on the link port. */
async function start(settings: Settings, logger: Logger): Promise<Service> {
  const { redisUrl, clickhouseUrl, host, defaultDomain } = settings;
  if (redisUrl === undefined || clickhouseUrl === undefined) {
    throw new SettingsError(['REDIS_URL and CLICKHOUSE_URL: are given by the supervisor that starts this process']);
  }
  const instanceKey = readInstanceKey(settings);
  const redis = new Redis(redisUrl, { enableOfflineQueue: false, commandTimeout: 2000 });
  redis.on('error', (err) => logger.warn({ err }, 'redis'));
  const clickhouse = createClickHouseClient({
    url: clickhouseUrl,
    user: settings.clickhouseUser,
    password: settings.clickhousePassword,
    database: settings.clickhouseDatabase,
  });
  const catalog = createCatalog({
    redis,
    clickhouse,
    instanceKey,
    now: Date.now,
    logger,
    baseUrl: settings.baseUrl,
    isReplicated: settings.clickhouseCluster !== undefined,
  });
  const producer = createEventProducer({ redisUrl, spoolDirectory: join(settings.dataDir, 'spool'), logger });
  const ingest = createIngestDeps({ settings, instanceKey, catalog, producer, clickhouse, redis, logger });
  const rateLimiter = createRateLimiter(redis, { logger });

  const options: CreateAppOptions = {
    logger,
    docBase: settings.docBase,
    baseUrl: settings.baseUrl,
    trustedProxies: settings.trustedProxies,
    requireHttps: settings.requireHttps,
    readiness: { clickhouse: () => clickhouse.command({ query: 'SELECT 1' }), redis: () => producer.ping() },
  };
  await untilConnected([() => producer.ping(), () => redis.ping()]);
  const api = createApp(options);
  api.register(authPlugin, { catalog, rateLimiter });
  api.register(async (routes) => managementRoutes(routes as App, { catalog, defaultDomain, now: Date.now }));
  api.register(async (routes) => queryRoutes(routes as App, { catalog, clickhouse, now: Date.now }));
  api.register(async (routes) => trackRoutes(routes as App, ingest));
  const links = buildLinkApp(options, ingest);
  await api.listen({ host, port: settings.apiPort });
  await links.listen({ host, port: settings.linkPort });
  return {
    async close() {
      await Promise.all([api.close(), links.close()]);
      await producer.close();
      ingest.close();
      await catalog.close();
      await rateLimiter.close();
      redis.disconnect();
      await clickhouse.close();
    },
  };
}

const settings = loadSettings();
const logger = createLogger({ name: 'http', level: settings.logLevel });
logger.info({ settings: describeSettings(settings) }, 'starting');
await runService(() => start(settings, logger), { logger, deadlineMs: settings.shutdownDeadlineMs });
