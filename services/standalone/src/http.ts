import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openStores } from '@waymark/catalog';
import { describeSettings, loadSettings, readAdminKey, readInstanceKey, type Settings } from '@waymark/config';
import { createEventProducer, createRecordedClaims } from '@waymark/event-queue';
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
import { managementRoutes, opsRoutes } from '@waymark/management';
import { metricsRoute, requestCountPlugin, startOperations, startTracing } from '@waymark/observability';
import { createOutbound } from '@waymark/outbound';
import { queryRoutes } from '@waymark/query';
import { createRateLimiter } from '@waymark/rate-limit';
import { createWebhookNotifier } from '@waymark/webhooks';

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
  const { host, defaultDomain } = settings;
  const instanceKey = readInstanceKey(settings);
  const stores = openStores(settings, instanceKey, logger);
  const { redisUrl, redis, clickhouse, catalog } = stores;
  const spoolDirectory = join(settings.dataDir, 'spool');
  const producer = createEventProducer({ redisUrl, spoolDirectory, logger });
  const catalogLookups = catalog.lookups;
  const tracing = await startTracing({ service: 'http', settings, logger });
  const operations = startOperations({
    service: 'http',
    tracing,
    redis,
    clickhouse,
    spoolDirectory,
    catalogLookups,
    logger,
  });
  const rateLimiter = createRateLimiter(redis, { instanceKey, logger });
  const ingest = createIngestDeps({ settings, instanceKey, catalog, producer, clickhouse, redis, rateLimiter, logger });

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
  api.register(requestCountPlugin, { operations });
  const adminKey = readAdminKey(settings);
  api.register(metricsRoute, { operations, adminKey, rateLimiter });
  const { componentStatus } = operations.components;
  const ops = { adminKey, rateLimiter, clickhouse, redis, componentStatus, now: Date.now };
  api.register(async (routes) => opsRoutes(routes as App, ops));
  api.register(authPlugin, { catalog, rateLimiter });
  const outbound = createOutbound({ allowedRanges: settings.outboundAllowedRanges });
  const claims = createRecordedClaims(redis);
  const notifier = createWebhookNotifier({ catalog, redis, logger, now: Date.now });
  const management = { catalog, claims, outbound, rateLimiter, notifier, defaultDomain, now: Date.now };
  api.register(async (routes) => managementRoutes(routes as App, management));
  const eventsExpire = settings.eventRetentionDays !== undefined;
  const query = { catalog, clickhouse, now: Date.now, eventsExpire, onQuery: operations.countQuery };
  api.register(async (routes) => queryRoutes(routes as App, query));
  api.register(async (routes) => trackRoutes(routes as App, ingest));
  const links = buildLinkApp(options, ingest, operations);
  await api.listen({ host, port: settings.apiPort });
  await links.listen({ host, port: settings.linkPort });
  return {
    async close() {
      await Promise.all([api.close(), links.close()]);
      await producer.close();
      ingest.close();
      outbound.close();
      notifier.close();
      await operations.close();
      await rateLimiter.close();
      await stores.close();
    },
  };
}

const settings = loadSettings();
const logger = createLogger({ name: 'http', level: settings.logLevel });
logger.info({ settings: describeSettings(settings) }, 'starting');
await runService(() => start(settings, logger), { logger, deadlineMs: settings.shutdownDeadlineMs });
