import { join } from 'node:path';
import { startServiceBase, untilConnected } from '@waymark/bootstrap';
import type { Settings } from '@waymark/config';
import { createEventProducers } from '@waymark/event-queue';
import { createExportSlots } from '@waymark/export';
import { type App, authPlugin, type CreateAppOptions, createApp, type Logger, type Service } from '@waymark/http-kit';
import { buildLinkApp, createIngestDeps, trackRoutes, warmCaches } from '@waymark/ingest';
import { managementRoutes, opsRoutes } from '@waymark/management';
import { requestCountPlugin } from '@waymark/observability';
import { createOutbound } from '@waymark/outbound';
import { queryRoutes } from '@waymark/query';
import { createWebhookNotifier } from '@waymark/webhooks';

/** The two ports of the HTTP services. */
export interface HttpService extends Service {
  readonly api: App;
  readonly links: App;
}

/**
 * Starts the HTTP services in this process: management, query and `/track` on the API port, redirects on the link port.
 *
 * @param service its name in the heartbeats
 */
export async function startHttp(settings: Settings, logger: Logger, service = 'http'): Promise<HttpService> {
  const { host, defaultDomain } = settings;
  const spoolDirectory = join(settings.dataDir, 'spool');
  const base = await startServiceBase({ service, settings, logger, spoolDirectory });
  const { redis, queues, clickhouse, catalog, rateLimiter, operations, adminKeys } = base;
  const { redisWaitReplicas: waitReplicas, spoolBytesMax } = settings;
  const redisUrls = queues.map(({ url }) => url);
  const queueShards = queues.map((queue) => queue.redis);
  const producers = createEventProducers({ redisUrls, waitReplicas, spoolDirectory, spoolBytesMax, logger });
  const ingest = createIngestDeps({ ...base, settings, producers: producers.shards, logger });
  const readiness = { clickhouse: base.checkClickHouse, redis: producers.ping };
  const options: CreateAppOptions = { ...base.appOptions, readiness };
  await untilConnected([producers.ping, () => redis.ping()]);
  await warmCaches({ catalog, logger });
  const api = createApp(options);
  api.register(requestCountPlugin, { operations });
  base.addMetrics(api);
  const { componentStatus } = operations.components;
  const ops = { adminKeys, rateLimiter, clickhouse, queueShards, componentStatus, now: Date.now };
  api.register(async (routes) => opsRoutes(routes as App, ops));
  api.register(authPlugin, { catalog, rateLimiter });
  const outbound = createOutbound({ allowedRanges: settings.outboundAllowedRanges });
  const notifier = createWebhookNotifier({ catalog, queueShards, waitReplicas, logger, now: Date.now });
  const { dataDir, exportBytesMax, importBytesMax, baseUrl, outboundAllowedRanges } = settings;
  // Dependencies of both services, so without the secrets of the settings.
  const deps = {
    catalog,
    clickhouse,
    redis,
    queueShards,
    waitReplicas,
    claimsOf: base.claimsOf,
    rateLimiter,
    outbound,
    notifier,
    exportSlots: createExportSlots(),
    onQuery: operations.countQuery,
    eventsExpire: settings.eventRetentionDays !== undefined,
    dataDir,
    exportBytesMax,
    importBytesMax,
    baseUrl,
    defaultDomain,
    outboundAllowedRanges,
    logger,
    now: Date.now,
  };
  api.register(async (routes) => managementRoutes(routes as App, deps));
  api.register(async (routes) => queryRoutes(routes as App, deps));
  api.register(async (routes) => trackRoutes(routes as App, ingest));
  const links = buildLinkApp(options, ingest, operations);
  await api.listen({ host, port: settings.apiPort });
  await links.listen({ host, port: settings.linkPort });
  return {
    api,
    links,
    async close() {
      await Promise.all([api.close(), links.close()]);
      await producers.close();
      ingest.close();
      outbound.close();
      notifier.close();
      await base.close();
    },
  };
}
