import { Writable } from 'node:stream';
import { startServiceBase } from '@waymark/bootstrap';
import { loadSettings } from '@waymark/config';
import { createEventProducer } from '@waymark/event-queue';
import { createExportSlots } from '@waymark/export';
import { type App, createLogger } from '@waymark/http-kit';
import { buildLinkApp, createIngestDeps } from '@waymark/ingest';
import { buildApp, opsRoutes } from '@waymark/management';
import { createOutbound } from '@waymark/outbound';
import { waitFor } from '@waymark/test-kit';
import { createWebhookNotifier } from '@waymark/webhooks';

/** The API, the operators' pages and the redirects of one process. Requests are injected: it listens on no port. */
export interface ServiceProcess {
  readonly api: App;
  readonly links: App;
  /** Everything it has logged. */
  logs(): string;
  close(): Promise<void>;
}

/**
 * Starts what the entry files of the services start, in this process.
 *
 * @param name its service in the heartbeats; different for each, because all have the same process id
 * @param env its settings
 */
export async function startServiceProcess(
  name: string,
  env: Readonly<Record<string, string>>,
): Promise<ServiceProcess> {
  const settings = loadSettings(env);
  let logs = '';
  const destination = new Writable({
    write(chunk, _encoding, done) {
      logs += chunk;
      done();
    },
  });
  const logger = createLogger({ name, level: 'debug', destination });
  const base = await startServiceBase({ service: name, settings, logger });
  const { redis, redisUrl, clickhouse, catalog, rateLimiter, adminKeys, operations } = base;
  const queueShards = base.queues.map((queue) => queue.redis);
  const notifier = createWebhookNotifier({ catalog, queueShards, logger, now: Date.now });
  const outbound = createOutbound({ allowedRanges: [] });
  const common = { catalog, clickhouse, exportSlots: createExportSlots(), now: Date.now };
  const { dataDir, importBytesMax, baseUrl } = settings;
  const imports = { redis, logger, dataDir, importBytesMax, baseUrl };
  const { claimsOf } = base;
  const management = {
    ...common,
    ...imports,
    queueShards,
    rateLimiter,
    outbound,
    notifier,
    claimsOf,
    defaultDomain: undefined,
  };
  const api = buildApp(base.appOptions, management);
  base.addMetrics(api);
  const { componentStatus } = operations.components;
  const ops = { adminKeys, rateLimiter, clickhouse, queueShards, componentStatus, now: Date.now };
  api.register(async (routes) => opsRoutes(routes as App, ops));
  const spoolDirectory = `${settings.dataDir}/${name}`;
  const producer = createEventProducer({ redisUrl, spoolDirectory, logger });
  const ingest = createIngestDeps({ ...base, settings, producers: [producer], logger });
  const links = buildLinkApp(base.appOptions, ingest);
  await Promise.all([api.ready(), links.ready()]);
  const isConnected = () => Promise.all([base.checkRedis(), producer.ping()]).then(Boolean, () => false);
  await waitFor(isConnected, { what: `the connections of ${name}` });
  return {
    api,
    links,
    logs: () => logs,
    async close() {
      await Promise.all([api.close(), links.close()]);
      await producer.close();
      ingest.close();
      outbound.close();
      notifier.close();
      await base.close();
    },
  };
}
