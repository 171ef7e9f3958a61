import { openStores } from '@waymark/catalog';
import { describeSettings, loadSettings, readAdminKey, readInstanceKey, type Settings } from '@waymark/config';
import { createLogger, type Logger, runService, type Service } from '@waymark/http-kit';
import { metricsRoute, startOperations, startTracing } from '@waymark/observability';
import { createRateLimiter } from '@waymark/rate-limit';
import { buildApp } from './app.js';

async function start(settings: Settings, logger: Logger): Promise<Service> {
  const instanceKey = readInstanceKey(settings);
  const stores = openStores(settings, instanceKey, logger);
  const { redis, clickhouse, catalog } = stores;
  const rateLimiter = createRateLimiter(redis, { instanceKey, logger });
  const catalogLookups = catalog.lookups;
  const tracing = await startTracing({ service: 'query', settings, logger });
  const operations = startOperations({ service: 'query', tracing, redis, clickhouse, catalogLookups, logger });
  const app = buildApp(
    {
      logger,
      docBase: settings.docBase,
      baseUrl: settings.baseUrl,
      trustedProxies: settings.trustedProxies,
      requireHttps: settings.requireHttps,
      readiness: { clickhouse: () => clickhouse.command({ query: 'SELECT 1' }), redis: () => redis.ping() },
    },
    {
      ...{ catalog, clickhouse, rateLimiter, now: Date.now, onQuery: operations.countQuery },
      eventsExpire: settings.eventRetentionDays !== undefined,
    },
    operations,
  );
  app.register(metricsRoute, { operations, adminKey: readAdminKey(settings), rateLimiter });
  await app.listen({ host: settings.host, port: settings.apiPort });
  return {
    async close() {
      await app.close();
      await operations.close();
      await rateLimiter.close();
      await stores.close();
    },
  };
}

const settings = loadSettings();
const logger = createLogger({ name: 'query', level: settings.logLevel });
logger.info({ settings: describeSettings(settings) }, 'starting');
await runService(() => start(settings, logger), { logger, deadlineMs: settings.shutdownDeadlineMs });
