import { type ClickHouseClient, createClickHouseClient } from '@waymark/clickhouse';
import { type Settings, SettingsError } from '@waymark/config';
import { createEventWriter } from '@waymark/event-queue';
import { type App, createApp, type Logger, type Service } from '@waymark/http-kit';

/** Inserts under way when a stop is asked for get this long; their jobs then go back into the queue. */
const CLOSE_SHARE = 0.5;

function storesOf({ redisUrl, clickhouseUrl }: Settings): {
  readonly redisUrl: string;
  readonly clickhouseUrl: string;
} {
  if (redisUrl === undefined || clickhouseUrl === undefined) {
    throw new SettingsError(['REDIS_URL and CLICKHOUSE_URL: are required by a service that runs on its own']);
  }
  return { redisUrl, clickhouseUrl };
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
 * Carries the queue into ClickHouse and answers health probes. Closing: not ready, no more jobs, inserts finished, then
 * Redis, then ClickHouse.
 */
export async function startWriter(settings: Settings, logger: Logger): Promise<Service> {
  const { redisUrl, clickhouseUrl } = storesOf(settings);
  const clickhouse = createClickHouseClient({
    url: clickhouseUrl,
    user: settings.clickhouseUser,
    password: settings.clickhousePassword,
    database: settings.clickhouseDatabase,
  });
  const closeMs = settings.shutdownDeadlineMs * CLOSE_SHARE;
  const writer = createEventWriter({ redisUrl, clickhouse, logger, closeMs });
  const app = buildHealthApp({ settings, logger, clickhouse, check: writer.check });
  try {
    await app.listen({ host: settings.host, port: settings.writerPort });
  } catch (err) {
    await writer.close();
    await clickhouse.close();
    throw err;
  }
  return {
    async close() {
      await app.close();
      await writer.close();
      await clickhouse.close();
    },
  };
}
