import { join } from 'node:path';
import { openStores } from '@waymark/catalog';
import { describeSettings, loadSettings, readAdminKey, readInstanceKey, type Settings } from '@waymark/config';
import { createEventProducer } from '@waymark/event-queue';
import { type CreateAppOptions, createLogger, type Logger, runService, type Service } from '@waymark/http-kit';
import { metricsRoute, startOperations, startTracing } from '@waymark/observability';
import { createRateLimiter } from '@waymark/rate-limit';
import { buildLinkApp, buildTrackApp } from './app.js';
import { createIngestDeps } from './ingest-deps.js';

async function start(settings: Settings, logger: Logger): Promise<Service> {
  const instanceKey = readInstanceKey(settings);
  const stores = openStores(settings, instanceKey, logger);
  const { redisUrl, redis, clickhouse, catalog } = stores;
  const spoolDirectory = join(settings.dataDir, 'spool');
  const producer = createEventProducer({ redisUrl, spoolDirectory, logger });
  const catalogLookups = catalog.lookups;
  const tracing = await startTracing({ service: 'ingest', settings, logger });
  const operations = startOperations({
    service: 'ingest',
    tracing,
    redis,
    clickhouse,
    spoolDirectory,
    catalogLookups,
    logger,
  });
  const rateLimiter = createRateLimiter(redis, { instanceKey, logger });
  const deps = createIngestDeps({ settings, instanceKey, catalog, producer, clickhouse, redis, rateLimiter, logger });

  const options: CreateAppOptions = {
    logger,
    docBase: settings.docBase,
    baseUrl: settings.baseUrl,
    trustedProxies: settings.trustedProxies,
    requireHttps: settings.requireHttps,
    // Without ClickHouse links are still served from Redis, and without Redis clicks are kept on disk.
    readiness: { redis: () => producer.ping() },
  };
  const adminKey = readAdminKey(settings);
  const trackApp = buildTrackApp(options, deps, operations);
  trackApp.register(metricsRoute, { operations, adminKey, rateLimiter });
  const linkApp = buildLinkApp(options, deps, operations);
  await trackApp.listen({ host: settings.host, port: settings.apiPort });
  await linkApp.listen({ host: settings.host, port: settings.linkPort });
  return {
    async close() {
      await Promise.all([trackApp.close(), linkApp.close()]);
      await producer.close();
      deps.close();
      await operations.close();
      await rateLimiter.close();
      await stores.close();
    },
  };
}

const settings = loadSettings();
const logger = createLogger({ name: 'ingest', level: settings.logLevel });
logger.info({ settings: describeSettings(settings) }, 'starting');
await runService(() => start(settings, logger), { logger, deadlineMs: settings.shutdownDeadlineMs });
