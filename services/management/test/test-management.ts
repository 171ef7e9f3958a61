import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { type Catalog, createCatalog } from '@waymark/catalog';
import type { ErrorBody, Link, Plan, Role, Scope } from '@waymark/contract';
import { createClaimAdmin } from '@waymark/event-queue';
import { createExportSlots, type ExportSlots } from '@waymark/export';
import { type App, createLogger } from '@waymark/http-kit';
import { createOutbound } from '@waymark/outbound';
import { createRateLimiter } from '@waymark/rate-limit';
import {
  createTestDatabase,
  startRedis,
  type TestDatabase,
  type TestRedis,
  temporaryDirectory,
} from '@waymark/test-kit';
import { createWebhookNotifier } from '@waymark/webhooks';
import { Redis } from 'ioredis';
import { buildApp, type ManagementDeps } from '../src/index.js';

export const DEFAULT_DOMAIN = 'shared.example';

type Stores = Pick<TestManagement, 'database' | 'server'>;

async function startStores(): Promise<Stores> {
  const [database, server] = await Promise.all([createTestDatabase(), startRedis()]);
  return { database, server };
}

export interface TestManagement {
  readonly app: App;
  readonly catalog: Catalog;
  readonly database: TestDatabase;
  /** Its Redis server. */
  readonly server: TestRedis;
  readonly dataDir: string;
  readonly redis: Redis;
  readonly exportSlots: ExportSlots;
  /** A separate catalog on the same stores, like that of another process. @param clickhouse its client; by default the same one */
  anotherCatalog(clickhouse?: TestDatabase['client']): Catalog;
  close(): Promise<void>;
}

/** A workspace, its key and how it calls the API. */
export interface Caller {
  readonly workspaceId: string;
  readonly token: string;
  readonly host: string;
  post(body: unknown): Promise<Answer>;
  get<Body = Link & ErrorBody>(path: string): Promise<Answer<Body>>;
  /** Sends any request; the type of the response body is up to the test. */
  call<Body = ErrorBody>(method: Method, path: string, body?: unknown): Promise<Answer<Body & ErrorBody>>;
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** A response: a link or an error, unless a test specifies another type. */
export interface Answer<Body = Link & ErrorBody> {
  readonly status: number;
  readonly body: Body;
}

/**
 * Starts the service on real stores, without a port.
 *
 * @param stores of another one that runs; it closes them. Default: its own
 */
export async function startManagement(
  now: () => number = Date.now,
  settings: Partial<Pick<ManagementDeps, 'importBytesMax' | 'importFileBytesMax' | 'defaultDomain'>> = {},
  stores?: Stores,
): Promise<TestManagement> {
  const { database, server } = stores ?? (await startStores());
  const client = new Redis(server.url);
  const logger = createLogger({ name: 'test', level: 'silent' });
  const catalogs: Catalog[] = [];
  function openCatalog(clickhouse = database.client): Catalog {
    const opened = createCatalog({
      redis: client,
      clickhouse,
      instanceKey: Buffer.alloc(32, 1),
      now,
      logger,
      baseUrl: 'https://api.example.com',
    });
    catalogs.push(opened);
    return opened;
  }
  const catalog = openCatalog();
  const rateLimiter = createRateLimiter(client, { instanceKey: Buffer.alloc(32) });
  const notifier = createWebhookNotifier({ catalog, queueShards: [client], logger, now });
  const outbound = createOutbound({ allowedRanges: ['127.0.0.1'] });
  const dataDir = temporaryDirectory('waymark-management-');
  const exportSlots = createExportSlots();
  const app = buildApp(
    { logger, docBase: 'https://docs.example.com', trustedProxies: ['127.0.0.1/32'] },
    {
      catalog,
      clickhouse: database.client,
      rateLimiter,
      claimsOf: async () => createClaimAdmin(client),
      queueShards: [client],
      outbound,
      notifier,
      defaultDomain: DEFAULT_DOMAIN,
      exportSlots,
      ...{ redis: client, logger, dataDir, importBytesMax: 2 ** 30, baseUrl: 'https://api.example.com' },
      ...settings,
      now,
    },
  );
  await app.ready();
  return {
    app,
    catalog,
    database,
    server,
    dataDir,
    exportSlots,
    redis: client,
    anotherCatalog: openCatalog,
    async close() {
      await app.close();
      await Promise.all(catalogs.map((opened) => opened.close()));
      outbound.close();
      notifier.close();
      await rateLimiter.close();
      client.disconnect();
      rmSync(dataDir, { recursive: true, force: true });
      if (stores === undefined) await Promise.all([server.stop(), database.drop()]);
    },
  };
}

/** A caller with the key of a new workspace on that plan. */
export async function aCaller(management: TestManagement, plan: Plan = 'enterprise', domain = true): Promise<Caller> {
  const mark = randomUUID().slice(0, 8);
  const host = `go.${mark}.example`;
  const created = await management.catalog.workspaces.create({
    name: 'Acme',
    slug: `acme-${mark}`,
    plan,
    ...(domain ? { domain: host } : {}),
  });
  return callerWith(management, created.workspace.id, created.apiKey.token, host);
}

export function callerWith({ app }: TestManagement, workspaceId: string, token: string, host: string): Caller {
  const headers = { authorization: `Bearer ${token}` };
  const answer = async <Body>(method: Method, url: string, payload?: object): Promise<Answer<Body>> => {
    const response = await app.inject({ method, url, headers, ...(payload && { payload }) });
    return { status: response.statusCode, body: response.json<Body>() };
  };
  return {
    workspaceId,
    token,
    host,
    post: (body) => answer('POST', '/links', body as object),
    get: (path) => answer('GET', path),
    call: (method, path, body) => answer(method, path, body as object),
  };
}

/** The same workspace with another key. */
export async function withKey(
  management: TestManagement,
  caller: Caller,
  role: Role,
  scopes: readonly Scope[] = [],
): Promise<Caller> {
  const { workspaceId, host } = caller;
  const { token } = await management.catalog.keys.create({ workspaceId, name: role, kind: 'secret', role, scopes });
  return callerWith(management, workspaceId, token, host);
}

/** Sends `count` concurrent requests and counts the responses by status. */
export async function statusesOf(count: number, request: () => Promise<{ readonly status: number }>) {
  const answers = await Promise.all(Array.from({ length: count }, request));
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
