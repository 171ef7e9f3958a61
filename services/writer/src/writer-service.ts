import { type LinkRecord, openStores } from '@waymark/catalog';
import type { ClickHouseClient } from '@waymark/clickhouse';
import { readInstanceKey, type Settings, SettingsError } from '@waymark/config';
import { createEventWriter } from '@waymark/event-queue';
import { type App, createApp, type Logger, type Service } from '@waymark/http-kit';
import { createOutbound } from '@waymark/outbound';
import { createEventFollower, createWebhookNotifier, createWebhookWorker } from '@waymark/webhooks';
import { startLinkTests } from './link-tests.js';

/** Inserts under way when a stop is asked for get this long; their jobs then go back into the queue. */
const CLOSE_SHARE = 0.5;

function checkStores({ redisUrl, clickhouseUrl }: Settings): void {
  if (redisUrl === undefined || clickhouseUrl === undefined) {
    throw new SettingsError(['REDIS_URL and CLICKHOUSE_URL: are required by a service that runs on its own']);
  }
}

interface HealthDeps {
  readonly settings: Settings;
  readonly logger: Logger;
  readonly clickhouse: ClickHouseClient;
  readonly check: () => Promise<void>;
}

/** `/healthz` and `/readyz`: nothing else is asked of a writer. */
function buildHealthApp({ settings, logger, clickhouse, check }: HealthDeps): App {
  return createApp({
    logger,
    docBase: settings.docBase,
    trustedProxies: settings.trustedProxies,
    title: 'Waymark writer',
    readiness: { queue: check, clickhouse: () => clickhouse.command({ query: 'SELECT 1' }) },
  });
}

/**
 * Carries the queue into ClickHouse, tells webhooks of it, ends tests of links, and answers health probes. Closing: not ready,
 * no more jobs, deliveries and inserts finished, then Redis, then ClickHouse.
 */
export async function startWriter(settings: Settings, logger: Logger): Promise<Service> {
  checkStores(settings);
  const stores = openStores(settings, readInstanceKey(settings), logger);
  const { redisUrl, redis, clickhouse, catalog } = stores;
  const closeMs = settings.shutdownDeadlineMs * CLOSE_SHARE;
  const outbound = createOutbound({ allowedRanges: settings.outboundAllowedRanges });
  const webhookJobsOf = createEventFollower({ catalog });
  const writer = createEventWriter({ redisUrl, clickhouse, logger, closeMs, webhookJobsOf });
  const webhooks = createWebhookWorker({ redisUrl, clickhouse, catalog, outbound, logger, closeMs });
  const notifier = createWebhookNotifier({ catalog, redis, logger, now: Date.now });
  const onChanged = (link: LinkRecord) => notifier.linkChanged('link.updated', link);
  const linkTests = startLinkTests({ catalog, redis, logger, onChanged });
  const close = async () => {
    await Promise.all([writer.close(), webhooks.close(), linkTests.close()]);
    notifier.close();
    outbound.close();
    await stores.close();
  };
  const app = buildHealthApp({ settings, logger, clickhouse, check: writer.check });
  try {
    await app.listen({ host: settings.host, port: settings.writerPort });
  } catch (err) {
    await close();
    throw err;
  }
  return {
    async close() {
      await app.close();
      await close();
    },
  };
}
