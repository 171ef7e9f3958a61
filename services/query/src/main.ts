import { runServiceProcess, startServiceBase } from '@waymark/bootstrap';
import type { Settings } from '@waymark/config';
import { createExportSlots } from '@waymark/export';
import type { Logger, Service } from '@waymark/http-kit';
import { buildApp } from './app.js';

async function start(settings: Settings, logger: Logger): Promise<Service> {
  const base = await startServiceBase({ service: 'query', settings, logger });
  const { redis, queues, clickhouse, catalog, rateLimiter, operations } = base;
  const { dataDir, exportBytesMax, baseUrl, defaultDomain, outboundAllowedRanges } = settings;
  const app = buildApp(
    { ...base.appOptions, readiness: { clickhouse: base.checkClickHouse, redis: base.checkRedis } },
    {
      catalog,
      clickhouse,
      rateLimiter,
      now: Date.now,
      onQuery: operations.countQuery,
      exportSlots: createExportSlots(),
      waitReplicas: settings.redisWaitReplicas,
      queueShards: queues.map((queue) => queue.redis),
      redis,
      logger,
      dataDir,
      exportBytesMax,
      baseUrl,
      defaultDomain,
      outboundAllowedRanges,
      eventsExpire: settings.eventRetentionDays !== undefined,
    },
    operations,
  );
  base.addMetrics(app);
  await app.listen({ host: settings.host, port: settings.apiPort });
  return {
    async close() {
      await app.close();
      await base.close();
    },
  };
}

await runServiceProcess('query', start);
