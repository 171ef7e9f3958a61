import { join } from 'node:path';
import { createCatalog } from '@waymark/catalog';
import { createClickHouseClient } from '@waymark/clickhouse';
import { describeSettings, loadSettings, readInstanceKey, type Settings, SettingsError } from '@waymark/config';
import { createEventProducer } from '@waymark/event-queue';
import { type CreateAppOptions, createLogger, type Logger, runService, type Service } from '@waymark/http-kit';
import { createRateLimiter } from '@waymark/rate-limit';
import { Redis } from 'ioredis';
import { buildLinkApp, buildTrackApp } from './app.js';
import { createIngestDeps } from './ingest-deps.js';

async function start(settings: Settings, logger: Logger): Promise<Service> {
  const { redisUrl, clickhouseUrl } = settings;
  if (redisUrl === undefined || clickhouseUrl === undefined) {
    throw new SettingsError(['REDIS_URL and CLICKHOUSE_URL: are required by a service that runs on its own']);
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
  const deps = createIngestDeps({ settings, instanceKey, catalog, producer, clickhouse, redis, logger });
  const rateLimiter = createRateLimiter(redis, { logger });

  const options: CreateAppOptions = {
    logger,
    docBase: settings.docBase,
    baseUrl: settings.baseUrl,
    trustedProxies: settings.trustedProxies,
    requireHttps: settings.requireHttps,
    // Without ClickHouse links are still served from Redis, and without Redis clicks are kept on disk.
    readiness: { redis: () => producer.ping() },
  };
  const trackApp = buildTrackApp(options, { ...deps, rateLimiter });
  const linkApp = buildLinkApp(options, deps);
  await trackApp.listen({ host: settings.host, port: settings.apiPort });
  await linkApp.listen({ host: settings.host, port: settings.linkPort });
  return {
    async close() {
      await Promise.all([trackApp.close(), linkApp.close()]);
      await producer.close();
      deps.close();
      await catalog.close();
      await rateLimiter.close();
      redis.disconnect();
      await clickhouse.close();
    },
  };
}

const settings = loadSettings();
const logger = createLogger({ name: 'ingest', level: settings.logLevel });
logger.info({ settings: describeSettings(settings) }, 'starting');
await runService(() => start(settings, logger), { logger, deadlineMs: settings.shutdownDeadlineMs });
