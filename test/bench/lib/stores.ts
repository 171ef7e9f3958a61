import { type Catalog, createCatalog } from '@waymark/catalog';
import { type ClickHouseClient, createClickHouseClient, migrate } from '@waymark/clickhouse';
import { startClickHouse, startRedis, type TestClickHouse, type TestRedis } from '@waymark/test-kit';
import { Redis } from 'ioredis';

export const INSTANCE_KEY = '07'.repeat(32);
export const BENCH_DOMAIN = 'go.bench.test';
const DATABASE = 'waymark';
const SILENT = { info() {}, warn() {}, error() {}, debug() {} };

/** Stores with a migrated database, configured as in a stack: Redis with `appendfsync always`, and the embedded ClickHouse. */
export interface BenchStores {
  readonly redis: TestRedis;
  readonly clickhouse: TestClickHouse;
  readonly client: ClickHouseClient;
  /** Environment of a service that uses these stores. */
  readonly environment: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

export async function startStores(): Promise<BenchStores> {
  const redis = await startRedis({ args: ['--maxmemory', '2gb'] });
  const clickhouse = await startClickHouse();
  const admin = createClickHouseClient({ url: clickhouse.url, database: 'default' });
  await admin.command({ query: `CREATE DATABASE IF NOT EXISTS ${DATABASE}` });
  await admin.close();
  const client = createClickHouseClient({ url: clickhouse.url, database: DATABASE, requestTimeoutMs: 120_000 });
  await migrate(client);
  return {
    redis,
    clickhouse,
    client,
    environment: {
      REDIS_URL: redis.url,
      CLICKHOUSE_URL: clickhouse.url,
      CLICKHOUSE_DATABASE: DATABASE,
      INSTANCE_KEY,
      GEO_EDGE: 'cloudflare',
      LOG_LEVEL: 'warn',
    },
    async stop() {
      await client.close();
      await clickhouse.stop();
      await redis.stop();
    },
  };
}

/** Runs `work` with a catalog on the stores. */
export async function withCatalog<T>(stores: BenchStores, work: (catalog: Catalog) => Promise<T>): Promise<T> {
  const redis = new Redis(stores.redis.url);
  const catalog = createCatalog({
    redis,
    clickhouse: stores.client,
    instanceKey: Buffer.from(INSTANCE_KEY, 'hex'),
    now: Date.now,
    logger: SILENT,
    baseUrl: 'http://127.0.0.1',
  });
  try {
    return await work(catalog);
  } finally {
    await catalog.close();
    redis.disconnect();
  }
}

/** Creates a workspace on the largest plan with a domain and a plain link. @returns the link's key, and an API key without low limits */
export function createBenchLink(
  stores: BenchStores,
): Promise<{ readonly workspaceId: string; readonly key: string; readonly plainKey: string; readonly token: string }> {
  return withCatalog(stores, async (catalog) => {
    const { workspace, apiKey } = await catalog.workspaces.create({
      name: 'Bench',
      slug: 'bench',
      plan: 'enterprise',
      domain: BENCH_DOMAIN,
    });
    await catalog.workspaces.update(workspace.id, { requestsPerMinute: 1_000_000_000 });
    const [key, plainKey] = ['tracked', 'plain'];
    const url = 'https://example.com/landing?utm_source=bench';
    await catalog.links.create(workspace.id, { domain: BENCH_DOMAIN, key, url, trackConversion: true });
    await catalog.links.create(workspace.id, { domain: BENCH_DOMAIN, key: plainKey, url });
    return { workspaceId: workspace.id, key, plainKey, token: apiKey.token };
  });
}
