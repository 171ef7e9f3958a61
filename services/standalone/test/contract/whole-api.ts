import { rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type Catalog, createCatalog } from '@waymark/catalog';
import { loadSettings } from '@waymark/config';
import { createClaimAdmin, createEventProducer, createEventWriter } from '@waymark/event-queue';
import { createExportSlots, type ExportSlots } from '@waymark/export';
import { type App, authPlugin, createApp, createLogger } from '@waymark/http-kit';
import { buildLinkApp, createIngestDeps, trackRoutes } from '@waymark/ingest';
import { managementRoutes } from '@waymark/management';
import { createOutbound } from '@waymark/outbound';
import { queryRoutes } from '@waymark/query';
import { createRateLimiter } from '@waymark/rate-limit';
import { createTestDatabase, startRedis, type TestDatabase, temporaryDirectory } from '@waymark/test-kit';
import {
  createEventJobLimit,
  createWebhookJobPlanner,
  createWebhookNotifier,
  createWebhookWorker,
} from '@waymark/webhooks';
import { lateRowsOf, startErasures } from '@waymark/writer';
import type { InjectOptions, LightMyRequestResponse } from 'fastify';
import { Redis } from 'ioredis';

export const BROWSER =
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36';

/** All HTTP services, on real stores and a port. */
export interface WholeApi {
  readonly url: string;
  readonly catalog: Catalog;
  readonly database: TestDatabase;
  readonly redisUrl: string;
  readonly dataDir: string;
  readonly exportSlots: ExportSlots;
  /** Every registered route, documented or not, as `GET /links/{linkId}`; without `HEAD` and `OPTIONS`. */
  readonly routes: readonly string[];
  /** Follows a short link as a new visitor. @returns the status */
  visit(domain: string, key: string): Promise<number>;
  /** Requests the link port with the headers of a browser without cookies, which `headers` can override. */
  callLinks(request: InjectOptions): Promise<LightMyRequestResponse>;
  /** Opens the link port. @returns its number */
  listenLinks(): Promise<number>;
  /** Starts a writer, and webhook deliveries that may reach this machine. */
  startWriter(): void;
  /** The keys and values that Redis has. */
  redisTexts(): Promise<string>;
  /** Continues erasures, which are not gathered for an hour here. */
  runErasures(): Promise<void>;
  close(): Promise<void>;
}

/**
 * @param options.trustedProxies addresses whose forwarded headers are accepted
 * @param options.exportBytesMax most bytes of the files of export jobs
 */
export async function startWholeApi({
  trustedProxies = [] as readonly string[],
  exportBytesMax = 2 ** 30,
} = {}): Promise<WholeApi> {
  const [database, server] = await Promise.all([createTestDatabase(), startRedis()]);
  const directory = temporaryDirectory('waymark-api-');
  const logger = createLogger({ name: 'test', level: 'silent' });
  const redis = new Redis(server.url);
  const instanceKey = Buffer.alloc(32, 3);
  const instanceKeys = { current: instanceKey, others: [], deriving: instanceKey };
  const clickhouse = database.client;
  const baseUrl = 'https://api.example.com';
  const catalog = createCatalog({ redis, clickhouse, instanceKey, now: Date.now, logger, baseUrl });
  const producer = createEventProducer({ redisUrl: server.url, spoolDirectory: join(directory, 'spool'), logger });
  const rateLimiter = createRateLimiter(redis, { instanceKey });
  const settings = loadSettings({ DATA_DIR: directory, GEO_EDGE: 'cloudflare' });
  const ingest = createIngestDeps({
    settings,
    instanceKeys,
    catalog,
    producers: [producer],
    clickhouse,
    redis,
    rateLimiter,
    logger,
  });
  const notifier = createWebhookNotifier({ catalog, queueShards: [redis], logger, now: Date.now });
  const outboundAllowedRanges = ['127.0.0.0/8'];
  const outbound = createOutbound({ allowedRanges: outboundAllowedRanges });
  const claimsOf = async () => createClaimAdmin(redis);
  const shared = { catalog, exportSlots: createExportSlots(), now: Date.now };
  const jobs = {
    redis,
    logger,
    dataDir: directory,
    exportBytesMax,
    importBytesMax: 2 ** 30,
    baseUrl,
    defaultDomain: undefined,
    outboundAllowedRanges,
  };
  const management = {
    ...shared,
    ...jobs,
    clickhouse,
    queueShards: [redis],
    claimsOf,
    outbound,
    rateLimiter,
    notifier,
  };

  const api = createApp({ logger, docBase: 'https://docs.example.com', trustedProxies });
  const registered: string[] = [];
  api.addHook('onRoute', ({ method, url }) => {
    const methods = [method].flat().filter((one) => one !== 'HEAD' && one !== 'OPTIONS');
    registered.push(...methods.map((one) => `${one} ${url.replace(/:(\w+)/g, '{$1}')}`));
  });
  api.register(authPlugin, { catalog, rateLimiter });
  api.register(async (routes) => managementRoutes(routes as App, management));
  api.register(async (routes) => queryRoutes(routes as App, { ...shared, ...jobs, clickhouse, queueShards: [redis] }));
  api.register(async (routes) => trackRoutes(routes as App, ingest));
  await api.listen({ host: '127.0.0.1', port: 0 });
  const links = buildLinkApp({ logger, docBase: 'https://docs.example.com', trustedProxies: ['127.0.0.1/32'] }, ingest);
  let visitors = 0;
  const callLinks: WholeApi['callLinks'] = (request) => {
    visitors += 1;
    const address = `203.${visitors >> 16}.${(visitors >> 8) & 255}.${visitors & 255}`;
    const headers = { 'user-agent': BROWSER, 'x-forwarded-for': address, ...request.headers };
    return links.inject({ ...request, headers });
  };
  let stopWriter = async () => {};
  const lateRows = lateRowsOf(catalog);
  const erasures = startErasures({
    ...{ catalog, redis, clickhouse, logger, lateRows, queueShards: [redis], cluster: undefined },
    ...{ gatherMs: 0, settleMs: 0, intervalMs: 2 ** 30 },
  });
  return {
    url: `http://127.0.0.1:${(api.server.address() as AddressInfo).port}`,
    catalog,
    database,
    redisUrl: server.url,
    dataDir: directory,
    exportSlots: shared.exportSlots,
    routes: registered,
    async visit(domain, key) {
      return (await callLinks({ url: `/${key}`, headers: { host: domain } })).statusCode;
    },
    callLinks,
    async listenLinks() {
      await links.listen({ host: '127.0.0.1', port: 0 });
      return (links.server.address() as AddressInfo).port;
    },
    startWriter() {
      const stores = { redisUrl: server.url, clickhouse, catalog, logger, closeMs: 2_000 };
      const limit = createEventJobLimit({ redis, onDropped: () => undefined, logger });
      const webhookJobsOf = createWebhookJobPlanner({ catalog, limit });
      const writer = createEventWriter({ ...stores, webhookJobsOf, lateRows });
      const receivers = createOutbound({ allowedRanges: outboundAllowedRanges });
      const deliveries = createWebhookWorker({ ...stores, outbound: receivers });
      stopWriter = async () => {
        await Promise.all([writer.close(), deliveries.close()]);
        receivers.close();
      };
    },
    runErasures: () => erasures.run(),
    async redisTexts() {
      const keys = await redis.keys('*');
      const values = await Promise.all(
        keys.map(async (key) => {
          const type = await redis.type(key);
          if (type === 'hash') return redis.hgetall(key);
          if (type === 'string') return redis.get(key);
          if (type === 'list') return redis.lrange(key, 0, -1);
          if (type === 'zset') return redis.zrange(key, '0', '-1');
          if (type === 'set') return redis.smembers(key);
          if (type === 'stream') return redis.xrange(key, '-', '+');
          // It has expired.
          if (type === 'none') return null;
          throw new Error(`${key} has the type ${type}, which is not read`);
        }),
      );
      return JSON.stringify([keys, values]);
    },
    async close() {
      await Promise.all([api.close(), links.close(), erasures.close()]);
      await stopWriter();
      notifier.close();
      outbound.close();
      await producer.close();
      ingest.close();
      await rateLimiter.close();
      await catalog.close();
      redis.disconnect();
      await Promise.all([server.stop(), database.drop()]);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
