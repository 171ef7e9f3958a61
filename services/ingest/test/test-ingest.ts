import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Catalog, createCatalog, type LinkRecord, type NewLink } from '@waymark/catalog';
import type { ClickHouseClient } from '@waymark/clickhouse';
import { createEventProducer, type EventProducer } from '@waymark/event-queue';
import { type App, createLogger } from '@waymark/http-kit';
import { createRateLimiter } from '@waymark/rate-limit';
import { createTestDatabase, startRedis, type TestRedis } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { buildLinkApp, buildTrackApp, createIngestDeps, type IngestDeps } from '../src/index.js';

export const DOMAIN = 'go.acme.com';
export const BROWSER =
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Safari/537.36';

export interface TestIngest {
  readonly redis: TestRedis;
  readonly clickhouse: ClickHouseClient;
  readonly catalog: Catalog;
  readonly producer: EventProducer;
  readonly deps: IngestDeps;
  readonly workspaceId: string;
  /** API key of the workspace. */
  readonly token: string;
  readonly linkApp: App;
  readonly trackApp: App;
  link(fields?: Partial<NewLink>): Promise<LinkRecord>;
  stop(): Promise<void>;
}

let links = 0;

/** Ingest on stores of its own: a Redis, a database, and a workspace with the domain `go.acme.com`. */
export async function startIngest(overrides: Partial<IngestDeps> = {}): Promise<TestIngest> {
  const [redis, database] = await Promise.all([startRedis(), createTestDatabase()]);
  const directory = mkdtempSync(join(tmpdir(), 'waymark-ingest-'));
  const logger = createLogger({ name: 'test', level: process.env.TEST_LOG_LEVEL ?? 'silent' });
  const client = new Redis(redis.url, { commandTimeout: 2000, maxRetriesPerRequest: 0 });
  client.on('error', () => undefined);
  const instanceKey = Buffer.alloc(32, 7);
  const now = overrides.now ?? Date.now;
  const catalog = createCatalog({
    redis: client,
    clickhouse: database.client,
    instanceKey,
    now: Date.now,
    logger,
    baseUrl: 'http://api.test',
  });
  const producer = createEventProducer({ redisUrl: redis.url, spoolDirectory: join(directory, 'spool'), logger });
  const { workspace, apiKey } = await catalog.workspaces.create({
    name: 'Acme',
    slug: 'acme',
    plan: 'enterprise',
    domain: DOMAIN,
  });
  const settings = {
    trustedProxies: ['127.0.0.0/8', '::1/128'],
    geoDatabase: undefined,
    geoHeaders: { country: undefined, city: undefined, region: undefined, continent: undefined },
    currencyRatesFile: undefined,
    defaultDomain: undefined,
  };
  const own = createIngestDeps({
    settings,
    instanceKey,
    catalog,
    producer,
    clickhouse: database.client,
    redis: client,
    logger,
    now,
  });
  const deps: IngestDeps = { ...own, ...overrides };
  const rateLimiter = createRateLimiter(client);
  const appOptions = { logger, docBase: 'http://api.test/docs', trustedProxies: settings.trustedProxies };
  const linkApp = buildLinkApp(appOptions, deps);
  const trackApp = buildTrackApp(appOptions, { ...deps, rateLimiter });
  await Promise.all([linkApp.ready(), trackApp.ready()]);

  return {
    redis,
    clickhouse: database.client,
    catalog,
    producer,
    deps,
    workspaceId: workspace.id,
    token: apiKey.token,
    linkApp,
    trackApp,
    link(fields = {}) {
      links += 1;
      return catalog.links.create(workspace.id, {
        domain: DOMAIN,
        key: `link-${links}`,
        url: 'https://acme.com/pricing',
        ...fields,
      });
    },
    async stop() {
      await Promise.all([linkApp.close(), trackApp.close()]);
      await producer.close();
      own.close();
      await catalog.close();
      await rateLimiter.close();
      client.disconnect();
      await Promise.all([database.drop(), redis.stop()]);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
