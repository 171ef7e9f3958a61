import { createCatalog } from '@waymark/catalog';
import { createClickHouseClient } from '@waymark/clickhouse';
import { describeSettings, loadSettings, readInstanceKey, type Settings, SettingsError } from '@waymark/config';
import { createLogger, type Logger, runService, type Service } from '@waymark/http-kit';
import { createRateLimiter } from '@waymark/rate-limit';
import { Redis } from 'ioredis';
import { buildApp } from './app.js';

function storesOf({ redisUrl, clickhouseUrl }: Settings): {
  readonly redisUrl: string;
  readonly clickhouseUrl: string;
} {
  if (redisUrl === undefined || clickhouseUrl === undefined) {
    throw new SettingsError(['REDIS_URL and CLICKHOUSE_URL: are required by a service that runs on its own']);
  }
  return { redisUrl, clickhouseUrl };
}

async function start(settings: Settings, logger: Logger): Promise<Service> {
  const stores = storesOf(settings);
  const redis = new Redis(stores.redisUrl, { enableOfflineQueue: false, commandTimeout: 2000 });
  redis.on('error', (err) => logger.warn({ err }, 'redis'));
  const clickhouse = createClickHouseClient({
    url: stores.clickhouseUrl,
    user: settings.clickhouseUser,
    password: settings.clickhousePassword,
    database: settings.clickhouseDatabase,
  });
  const catalog = createCatalog({
    redis,
    clickhouse,
    instanceKey: readInstanceKey(settings),
    now: Date.now,
    logger,
    baseUrl: settings.baseUrl,
    isReplicated: settings.clickhouseCluster !== undefined,
  });
  const rateLimiter = createRateLimiter(redis, { logger });
  const app = buildApp(
    {
      logger,
      docBase: settings.docBase,
      baseUrl: settings.baseUrl,
      trustedProxies: settings.trustedProxies,
      requireHttps: settings.requireHttps,
      readiness: { clickhouse: () => clickhouse.command({ query: 'SELECT 1' }), redis: () => redis.ping() },
    },
    { catalog, clickhouse, rateLimiter, now: Date.now },
  );
  await app.listen({ host: settings.host, port: settings.apiPort });
  return {
    async close() {
      await app.close();
      await catalog.close();
      await rateLimiter.close();
      redis.disconnect();
      await clickhouse.close();
    },
  };
}

const settings = loadSettings();
const logger = createLogger({ name: 'query', level: settings.logLevel });
logger.info({ settings: describeSettings(settings) }, 'starting');
await runService(() => start(settings, logger), { logger, deadlineMs: settings.shutdownDeadlineMs });
