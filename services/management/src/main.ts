import { runServiceProcess, startServiceBase } from '@waymark/bootstrap';
import type { Settings } from '@waymark/config';
import { createExportSlots } from '@waymark/export';
import type { App, Logger, Service } from '@waymark/http-kit';
import { createOutbound } from '@waymark/outbound';
import { createWebhookNotifier } from '@waymark/webhooks';
import { buildApp } from './app.js';
import { opsRoutes } from './ops/ops-routes.js';

async function start(settings: Settings, logger: Logger): Promise<Service> {
  const base = await startServiceBase({ service: 'management', settings, logger });
  const { clickhouse, catalog, rateLimiter, operations, adminKeys } = base;
  const queueShards = base.queues.map((queue) => queue.redis);
  const waitReplicas = settings.redisWaitReplicas;
  const notifier = createWebhookNotifier({ catalog, queueShards, waitReplicas, logger, now: Date.now });
  const outbound = createOutbound({ allowedRanges: settings.outboundAllowedRanges });
  const app = buildApp(
    { ...base.appOptions, readiness: { clickhouse: base.checkClickHouse, redis: base.checkRedis } },
    {
      catalog,
      clickhouse,
      rateLimiter,
      outbound,
      notifier,
      now: Date.now,
      claimsOf: base.claimsOf,
      queueShards,
      waitReplicas,
      redis: base.redis,
      logger,
      dataDir: settings.dataDir,
      importBytesMax: settings.importBytesMax,
      baseUrl: settings.baseUrl,
      defaultDomain: settings.defaultDomain,
      exportSlots: createExportSlots(),
    },
    operations,
  );
  base.addMetrics(app);
  const { componentStatus } = operations.components;
  const ops = { adminKeys, rateLimiter, clickhouse, queueShards, componentStatus, now: Date.now };
  app.register(async (routes) => opsRoutes(routes as App, ops));
  await app.listen({ host: settings.host, port: settings.apiPort });
  return {
    async close() {
      await app.close();
      outbound.close();
      notifier.close();
      await base.close();
    },
  };
}

await runServiceProcess('management', start);
