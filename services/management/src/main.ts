import { openStores } from '@waymark/catalog';
import { describeSettings, loadSettings, readAdminKey, readInstanceKey, type Settings } from '@waymark/config';
import { createRecordedClaims } from '@waymark/event-queue';
import { type App, createLogger, type Logger, runService, type Service } from '@waymark/http-kit';
import { metricsRoute, startOperations, startTracing } from '@waymark/observability';
import { createOutbound } from '@waymark/outbound';
import { createRateLimiter } from '@waymark/rate-limit';
import { createWebhookNotifier } from '@waymark/webhooks';
import { buildApp } from './app.js';
import { opsRoutes } from './ops/route.js';

async function start(settings: Settings, logger: Logger): Promise<Service> {
  const instanceKey = readInstanceKey(settings);
  const stores = openStores(settings, instanceKey, logger);
  const { redis, clickhouse, catalog } = stores;
  const rateLimiter = createRateLimiter(redis, { instanceKey, logger });
  const catalogLookups = catalog.lookups;
  const tracing = await startTracing({ service: 'management', settings, logger });
  const operations = startOperations({ service: 'management', tracing, redis, clickhouse, catalogLookups, logger });
  const notifier = createWebhookNotifier({ catalog, redis, logger, now: Date.now });
  const outbound = createOutbound({ allowedRanges: settings.outboundAllowedRanges });
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
      catalog,
      rateLimiter,
      claims: createRecordedClaims(redis),
      outbound,
      notifier,
      defaultDomain: settings.defaultDomain,
      now: Date.now,
    },
    operations,
  );
  const adminKey = readAdminKey(settings);
  app.register(metricsRoute, { operations, adminKey, rateLimiter });
  const { componentStatus } = operations.components;
  const ops = { adminKey, rateLimiter, clickhouse, redis, componentStatus, now: Date.now };
  app.register(async (routes) => opsRoutes(routes as App, ops));
  await app.listen({ host: settings.host, port: settings.apiPort });
  return {
    async close() {
      await app.close();
      outbound.close();
      notifier.close();
      await operations.close();
      await rateLimiter.close();
      await stores.close();
    },
  };
}

const settings = loadSettings();
const logger = createLogger({ name: 'management', level: settings.logLevel });
logger.info({ settings: describeSettings(settings) }, 'starting');
await runService(() => start(settings, logger), { logger, deadlineMs: settings.shutdownDeadlineMs });
