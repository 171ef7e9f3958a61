import { randomUUID } from 'node:crypto';
import { type ClickHouseClient, createClickHouseClient } from '@waymark/clickhouse';
import { createTestDatabase, startRedis, type TestDatabase, type TestRedis, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { type Catalog, type CreatedWorkspace, createCatalog } from '../src/index.js';

const BASE_URL = 'https://api.example.com';
const INSTANCE_KEY = Buffer.alloc(32, 7);

/** The stores, the clock and the time limit of a catalog; by default those of the test file, the real time and ten seconds. */
interface CatalogAt {
  readonly now?: () => number;
  readonly database?: { readonly client: ClickHouseClient };
  readonly redis?: Redis;
  /** Those from 1 on; none by default. */
  readonly queueShards?: readonly Redis[];
  /** Ten seconds by default, because busy machines are slow. */
  readonly redirectWaitMs?: number;
  /** By default one that all catalogs share. */
  readonly instanceKey?: Buffer;
  readonly otherInstanceKeys?: readonly Buffer[];
}

/** Both stores of a test file, and any number of catalogs on them, which share nothing, like those of separate processes. */
export interface TestStores {
  readonly database: TestDatabase;
  readonly redis: TestRedis;
  /** A connection for the test itself. */
  readonly client: Redis;
  /** Warnings that the catalogs have logged. */
  readonly warnings: string[];
  catalog(options?: CatalogAt): Catalog;
  /** The same database at another URL. */
  databaseAt(url: string): { readonly client: ClickHouseClient };
  close(): Promise<void>;
}

export async function startStores(): Promise<TestStores> {
  const [database, redis] = await Promise.all([createTestDatabase(), startRedis()]);
  const client = new Redis(redis.url);
  client.on('error', () => undefined);
  const catalogs: Catalog[] = [];
  const warnings: string[] = [];
  return {
    database,
    redis,
    client,
    warnings,
    databaseAt: (url) => ({ client: createClickHouseClient({ url, database: database.database }) }),
    catalog(at = {}) {
      const { now = Date.now } = at;
      const made = createCatalog({
        redis: at.redis ?? client,
        queueShards: at.queueShards ?? [],
        clickhouse: (at.database ?? database).client,
        instanceKey: at.instanceKey ?? INSTANCE_KEY,
        otherInstanceKeys: at.otherInstanceKeys ?? [],
        now,
        logger: { warn: (_context, message) => warnings.push(message) },
        baseUrl: BASE_URL,
        redirectWaitMs: at.redirectWaitMs ?? 10_000,
      });
      catalogs.push(made);
      return made;
    },
    async close() {
      await Promise.all(catalogs.map((catalog) => catalog.close()));
      client.disconnect();
      await Promise.all([redis.stop(), database.drop()]);
    },
  };
}

/** Resolves with the catalog once it is connected to Redis; until then it reads ClickHouse. */
export async function connected(catalog: Catalog, client: Redis): Promise<Catalog> {
  const keys: string[] = [];
  await waitFor(
    async () => {
      const name = randomUUID();
      keys.push(`waymark:cache:name:link/probe.example/${name}`);
      await catalog.links.findByAddress('probe.example', name);
      return (await client.exists(keys)) > 0;
    },
    { what: 'the catalog to use Redis' },
  );
  return catalog;
}

/** Creates a workspace with a domain of its own. */
export function aWorkspace(catalog: Catalog): Promise<CreatedWorkspace & { readonly host: string }> {
  const mark = randomUUID().slice(0, 8);
  const host = `go.${mark}.example`;
  return catalog.workspaces
    .create({ name: 'Acme', slug: `acme-${mark}`, plan: 'enterprise', domain: host })
    .then((created) => ({ ...created, host }));
}

export function outcomes(settled: readonly PromiseSettledResult<unknown>[]): { created: number; codes: string[] } {
  const codes = settled.flatMap((outcome) =>
    outcome.status === 'rejected' ? [String((outcome.reason as { code?: string }).code ?? outcome.reason)] : [],
  );
  return { created: settled.length - codes.length, codes: [...new Set(codes)] };
}

/** Deletes every cache entry. The queue, locks and rate limits have other prefixes. */
export async function wipeCaches(client: Redis): Promise<number> {
  const keys = await client.keys('waymark:cache:*');
  return keys.length === 0 ? 0 : client.del(keys);
}
