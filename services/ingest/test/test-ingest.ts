import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Catalog, type CustomerRecord, createCatalog, type LinkRecord, type NewLink } from '@waymark/catalog';
import type { ClickHouseClient } from '@waymark/clickhouse';
import { createEventProducer, createEventWriter, type EventProducer, type EventWriter } from '@waymark/event-queue';
import { type App, createLogger } from '@waymark/http-kit';
import { createRateLimiter } from '@waymark/rate-limit';
import { createTestDatabase, startRedis, type TestRedis, temporaryDirectory, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { buildLinkApp, buildTrackApp, createIngestDeps, type IngestDeps } from '../src/index.js';
import { createConversionTrackers } from '../src/track/conversion-trackers.js';

export const DOMAIN = 'go.acme.com';
export const BROWSER =
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Safari/537.36';

/** The empty click cache of a process that has recorded none of the clicks. */
export const NO_FRESH_CLICKS: IngestDeps['freshClicks'] = { add: () => undefined, find: () => undefined };

export interface TestIngest {
  readonly redis: TestRedis;
  readonly redisClient: Redis;
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
  /** Visits a link as a new visitor, unless headers override it. */
  visit(path: string, headers?: Record<string, string>, method?: 'GET' | 'HEAD'): Promise<Answer>;
  /** Visits a link as a new visitor and returns the click id. The link must track conversions. */
  click(link: LinkRecord, headers?: Record<string, string>): Promise<string>;
  /** Calls the API with the workspace's key, unless headers override it. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** Rows of a table under a condition, as objects. */
  rows(table: string, condition?: string, parameters?: Record<string, unknown>): Promise<Record<string, unknown>[]>;
  /** Waits until there are `count` rows, and returns them. */
  rowsWhen(
    count: number,
    table: string,
    condition?: string,
    parameters?: Record<string, unknown>,
  ): Promise<Record<string, unknown>[]>;
  /** Like `post`, on an app with overridden dependencies. */
  postTo(
    overrides: Partial<IngestDeps>,
    path: string,
    body: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer>;
  /** The customer, once the writer has stored its external id. */
  customer(externalId: string): Promise<CustomerRecord>;
  startWriter(): void;
  stopWriter(): Promise<void>;
  stop(): Promise<void>;
}

export type Answer = Awaited<ReturnType<App['inject']>>;

/** Generous, because test machines are busy. */
const ROWS_WITHIN_MS = 25_000;

let links = 0;
let visitors = 0;

/** The dependencies with others in their place, on which the trackers depend as well. */
function withOverrides(deps: IngestDeps, overrides: Partial<IngestDeps>): IngestDeps {
  const changed = { ...deps, ...overrides };
  return { ...changed, conversions: createConversionTrackers(changed) };
}

/**
 * Starts ingest on its own Redis and database, with a workspace and the domain `go.acme.com`. The first read of rows starts a writer, unless
 * the test has started or stopped one before: most tests of redirects read none, and each insert costs more than ten visits.
 */
export async function startIngest(
  overrides: Partial<IngestDeps> = {},
  options: { readonly redirectWaitMs?: number; readonly defaultDomain?: string } = {},
): Promise<TestIngest> {
  const [redis, database] = await Promise.all([startRedis(), createTestDatabase()]);
  const directory = temporaryDirectory('waymark-ingest-');
  const logger = createLogger({ name: 'test', level: 'silent' });
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
    ...options,
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
    geoEdge: 'cloudflare' as const,
    geoHeaders: { country: undefined, city: undefined, region: undefined, continent: undefined },
    anonymisedAddresses: 'eu' as const,
    currencyRatesFile: undefined,
    defaultDomain: options.defaultDomain,
    clickhouseCluster: undefined,
  };
  // A long time-out, so that a slow machine does not look like an unavailable Redis.
  const rateLimiter = createRateLimiter(client, { instanceKey, commandTimeoutMs: 10_000 });
  const own = createIngestDeps({
    settings,
    instanceKeys: { current: instanceKey, others: [], deriving: instanceKey },
    catalog,
    producers: [producer],
    clickhouse: database.client,
    redis: client,
    rateLimiter,
    logger,
    now,
  });
  const deps = withOverrides(own, overrides);
  const appOptions = { logger, docBase: 'http://api.test/docs', trustedProxies: settings.trustedProxies };
  const linkApp = buildLinkApp(appOptions, deps);
  const trackApp = buildTrackApp(appOptions, deps);
  await Promise.all([linkApp.ready(), trackApp.ready()]);

  let writer: EventWriter | undefined;
  const startWriter = () => {
    writer ??= createEventWriter({ redisUrl: redis.url, clickhouse: database.client, logger });
  };
  let startsOnRead = true;
  const stopWriter = async () => {
    startsOnRead = false;
    await writer?.close();
    writer = undefined;
  };
  const startOnRead = () => {
    if (startsOnRead) startWriter();
  };

  const visit: TestIngest['visit'] = (path, headers = {}, method = 'GET') => {
    visitors += 1;
    const address = `203.${visitors >> 16}.${(visitors >> 8) & 255}.${visitors & 255}`;
    return linkApp.inject({
      method,
      url: path,
      headers: { host: DOMAIN, 'user-agent': BROWSER, 'x-forwarded-for': address, ...headers },
    });
  };
  const rows: TestIngest['rows'] = async (table, condition = '1', parameters = {}) => {
    startOnRead();
    const result = await database.client.query({
      query: `SELECT * FROM ${table} WHERE ${condition}`,
      query_params: parameters,
      format: 'JSONEachRow',
    });
    return result.json<Record<string, unknown>>();
  };

  return {
    startWriter,
    stopWriter,
    visit,
    rows,
    rowsWhen(count, table, condition, parameters) {
      const read = async () => {
        const found = await rows(table, condition, parameters);
        return found.length === count && found;
      };
      return waitFor(read, { timeoutMs: ROWS_WITHIN_MS, what: `${count} rows of ${table} where ${condition}` });
    },
    customer(externalId) {
      startOnRead();
      const find = () => catalog.customers.findByExternalId(workspace.id, externalId);
      return waitFor(find, { timeoutMs: ROWS_WITHIN_MS, what: `the customer ${externalId}` });
    },
    async click(link, headers) {
      const { location } = (await visit(`/${link.key}`, headers)).headers;
      const clickId = new URL(String(location)).searchParams.get('dub_id');
      if (clickId === null) throw new Error(`no click id in ${location}`);
      return clickId;
    },
    async postTo(overrides, path, body, headers = {}) {
      const app = buildTrackApp(appOptions, withOverrides(deps, overrides));
      try {
        return await app.inject({
          method: 'POST',
          url: path,
          headers: { authorization: `Bearer ${apiKey.token}`, ...headers },
          payload: body as object,
        });
      } finally {
        await app.close();
      }
    },
    post(path, body, headers = {}) {
      return trackApp.inject({
        method: 'POST',
        url: path,
        headers: { authorization: `Bearer ${apiKey.token}`, ...headers },
        payload: body as object,
      });
    },
    redis,
    redisClient: client,
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
      await stopWriter();
      own.close();
      await catalog.close();
      await rateLimiter.close();
      client.disconnect();
      await Promise.all([database.drop(), redis.stop()]);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
