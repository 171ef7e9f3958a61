import { join } from 'node:path';
import { runServiceProcess, startServiceBase, untilConnected } from '@waymark/bootstrap';
import type { Settings } from '@waymark/config';
import { createEventProducers } from '@waymark/event-queue';
import type { CreateAppOptions, Logger, Service } from '@waymark/http-kit';
import { buildLinkApp, buildTrackApp } from './app.js';
import { createIngestDeps } from './ingest-deps.js';
import { warmCaches } from './warm-up.js';

async function start(settings: Settings, logger: Logger): Promise<Service> {
  const spoolDirectory = join(settings.dataDir, 'spool');
  const base = await startServiceBase({ service: 'ingest', settings, logger, spoolDirectory });
  const { operations } = base;
  const { redisWaitReplicas: waitReplicas, spoolBytesMax } = settings;
  const producers = createEventProducers({
    redisUrls: base.queues.map(({ url }) => url),
    waitReplicas,
    spoolDirectory,
    spoolBytesMax,
    logger,
  });
  const deps = createIngestDeps({ ...base, settings, producers: producers.shards, logger });
  // ClickHouse is not part of the readiness check, because links are served from Redis without it.
  const options: CreateAppOptions = { ...base.appOptions, readiness: { redis: producers.ping } };
  const trackApp = buildTrackApp(options, deps, operations);
  base.addMetrics(trackApp);
  const linkApp = buildLinkApp(options, deps, operations);
  await untilConnected([producers.ping]);
  await warmCaches({ catalog: base.catalog, logger });
  await trackApp.listen({ host: settings.host, port: settings.apiPort });
  await linkApp.listen({ host: settings.host, port: settings.linkPort });
  return {
    async close() {
      await Promise.all([trackApp.close(), linkApp.close()]);
      await producers.close();
      deps.close();
      await base.close();
    },
  };
}

await runServiceProcess('ingest', start);
