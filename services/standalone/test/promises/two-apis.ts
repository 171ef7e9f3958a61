import type { ChildProcess } from 'node:child_process';
import { request as httpRequest } from 'node:http';
import { createInterface } from 'node:readline';
import { type Catalog, createCatalog } from '@waymark/catalog';
import { connectRedis } from '@waymark/redis';
import {
  createTestDatabase,
  forkService,
  startRedis,
  storeSettings,
  TEST_INSTANCE_KEY,
  type TestDatabase,
  type TestRedis,
} from '@waymark/test-kit';
import { Dub } from 'dub';
import type { Redis } from 'ioredis';
import { removeDataDir, temporaryDataDir } from '../process/run-up.js';
import { stablePort } from '../stable-port.js';
import { startLatePubSub } from './late-pub-sub.js';

const ADMIN_KEY = '08'.repeat(32);
const BROWSER =
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36';

/** A response of the API. */
export interface Answer<Body = unknown> {
  readonly status: number;
  readonly body: Body;
  /** In seconds; 0 without the header. */
  readonly retryAfter: number;
}

/** A process that serves the whole API and short links. */
export interface ApiProcess {
  readonly url: string;
  readonly child: ChildProcess;
  /** The published SDK, with the key of the workspace. */
  readonly dub: Dub;
  /** Sends a request for which the SDK has no method. */
  call<Body = unknown>(method: string, path: string, body?: object, token?: string): Promise<Answer<Body>>;
  /** Visits a short link; `location` is its destination, undefined if it does not redirect. */
  visit(domain: string, path: string): Promise<{ readonly status: number; readonly location: string | undefined }>;
}

/** Two API processes and a writer on one Redis and one database, as behind a load balancer. */
export interface TwoApis {
  readonly apis: readonly [ApiProcess, ApiProcess];
  readonly writer: ChildProcess;
  /** The one server; undefined if the caller has started another Redis. */
  readonly redis: TestRedis | undefined;
  /** A connection for the test itself. */
  readonly redisClient: Redis;
  readonly database: TestDatabase;
  readonly workspaceId: string;
  /** The workspace's first domain. */
  readonly domain: string;
  readonly token: string;
  readonly publishableToken: string;
  /** For `/metrics` of the processes. */
  readonly adminKey: string;
  /** Runs `work` with a catalog in this process, as a command of the operator does. */
  withCatalog<T>(work: (catalog: Catalog) => Promise<T>): Promise<T>;
  /** Records a click of a new visitor on the link `tracked`; the process that records it finds it at once. */
  aClick(api: ApiProcess): Promise<string>;
  close(): Promise<void>;
}

async function answerOf<Body>(response: Response): Promise<Answer<Body>> {
  const text = await response.text();
  const body = (text === '' ? undefined : JSON.parse(text)) as Body;
  return { status: response.status, body, retryAfter: Number(response.headers.get('retry-after')) };
}

export interface TwoApisOptions {
  /** Delay of pub/sub messages from Redis to the processes, such as invalidations. */
  readonly invalidationDelayMs?: number;
  /** A Redis that the caller has started and stops, instead of one server. */
  readonly redisUrl?: string;
  /** Further settings of the processes. */
  readonly settings?: Record<string, string>;
  /** Called with each line that a process logs. By default they log nothing. */
  readonly onLog?: (line: string) => void;
}

export async function startTwoApis(options: TwoApisOptions = {}): Promise<TwoApis> {
  const { invalidationDelayMs, settings = {}, onLog } = options;
  const [redis, database] = await Promise.all([
    options.redisUrl === undefined ? startRedis() : undefined,
    createTestDatabase(),
  ]);
  const directUrl = options.redisUrl ?? redis?.url ?? '';
  const late = invalidationDelayMs === undefined ? undefined : await startLatePubSub(directUrl, invalidationDelayMs);
  const redisUrl = late?.url ?? directUrl;
  const dataDirs: string[] = [];
  const redisClient = connectRedis(directUrl);
  redisClient.on('error', () => undefined);

  async function withCatalog<T>(work: (catalog: Catalog) => Promise<T>): Promise<T> {
    const client = connectRedis(directUrl);
    client.on('error', () => undefined);
    const catalog = createCatalog({
      ...{
        redis: client,
        clickhouse: database.client,
        instanceKey: Buffer.from(TEST_INSTANCE_KEY, 'hex'),
        now: Date.now,
      },
      ...{ logger: { warn: () => undefined }, baseUrl: 'https://api.example.com' },
    });
    try {
      return await work(catalog);
    } finally {
      await catalog.close();
      client.disconnect();
    }
  }

  async function start(entry: string, name: string) {
    const dataDir = temporaryDataDir();
    dataDirs.push(dataDir);
    const [port, linkPort] = await Promise.all(
      ['api', 'links'].map((one) => stablePort(`${one} of ${name} ${dataDir}`)),
    );
    const service = forkService(new URL(entry, import.meta.url), {
      ...{ ...storeSettings({ url: redisUrl }, database), ADMIN_KEY, DATA_DIR: dataDir },
      ...{ OUTBOUND_ALLOWED_RANGES: '127.0.0.0/8', LOG_LEVEL: onLog === undefined ? 'silent' : 'warn' },
      ...(name === 'writer' ? { WRITER_PORT: String(port) } : { API_PORT: String(port), LINK_PORT: String(linkPort) }),
      ...settings,
    });
    const { child, url } = service;
    if (child.stdout !== null && onLog !== undefined) createInterface(child.stdout).on('line', onLog);
    await service.ready();
    return { child, url, linkPort };
  }

  const domain = 'go.acme.example';
  const created = await withCatalog(async (catalog) => {
    const made = await catalog.workspaces.create({ name: 'Acme', slug: 'acme', plan: 'enterprise', domain });
    await catalog.workspaces.update(made.workspace.id, { requestsPerMinute: 1_000_000, analyticsPerSecond: 10_000 });
    await catalog.links.create(made.workspace.id, {
      ...{ domain, key: 'tracked', url: 'https://acme.com', trackConversion: true },
    });
    return made;
  });
  const token = created.apiKey.token;

  async function startApi(name: string): Promise<ApiProcess> {
    const { child, url, linkPort } = await start('../../dist/http.js', name);
    return {
      url,
      child,
      dub: new Dub({ token, serverURL: url }),
      async call(method, path, body, key = token) {
        const headers: Record<string, string> = { authorization: `Bearer ${key}` };
        if (body !== undefined) headers['content-type'] = 'application/json';
        return answerOf(await fetch(`${url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) }));
      },
      visit: (host, path) =>
        new Promise((resolve, reject) => {
          const headers = { host, 'user-agent': BROWSER };
          const options = { host: '127.0.0.1', port: linkPort ?? 0, path, headers, agent: false };
          httpRequest(options, (response) => {
            response.resume();
            response.once('end', () =>
              resolve({ status: response.statusCode ?? 0, location: response.headers.location }),
            );
          })
            .once('error', reject)
            .end();
        }),
    };
  }

  const [first, second, writer] = await Promise.all([
    startApi('the first API'),
    startApi('the second API'),
    start('../../../writer/dist/main.js', 'writer'),
  ]);
  let visitors = 0;
  return {
    apis: [first, second],
    writer: writer.child,
    ...{ redis, redisClient, database, workspaceId: created.workspace.id, domain, token },
    publishableToken: created.publishableKey.token,
    adminKey: ADMIN_KEY,
    withCatalog,
    async aClick(api) {
      visitors += 1;
      const response = await fetch(`${api.url}/track/click`, {
        method: 'POST',
        headers: {
          ...{ authorization: `Bearer ${created.publishableKey.token}`, 'content-type': 'application/json' },
          'user-agent': `${BROWSER} Visitor/${visitors}`,
          // Of a network of its own, because calls without a secret key are limited by network.
          'x-forwarded-for': `198.${18 + (visitors >> 16)}.${(visitors >> 8) & 255}.${visitors & 255}`,
        },
        body: JSON.stringify({ domain, key: 'tracked' }),
      });
      const { clickId } = (await response.json()) as { clickId?: string };
      if (!clickId) throw new Error(`no click: ${response.status}`);
      return clickId;
    },
    async close() {
      for (const { child } of [first, second, writer]) child.kill('SIGKILL');
      for (const dataDir of dataDirs) removeDataDir(dataDir);
      redisClient.disconnect();
      await late?.stop();
      await Promise.all([redis?.stop(), database.drop()]);
    },
  };
}
