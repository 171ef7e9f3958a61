import { type Catalog, createCatalog } from '@waymark/catalog';
import { type ClickHouseClient, createClickHouseClient } from '@waymark/clickhouse';
import { Redis } from 'ioredis';
import { TEST_INSTANCE_KEY } from '../fork-service.js';
import { startRedis } from './redis.js';
import { createTestDatabase, type TestDatabase } from './test-database.js';
import type { TestRedis } from './test-server.js';

const BASE_URL = 'https://api.example.com';
const INSTANCE_KEY = Buffer.from(TEST_INSTANCE_KEY, 'hex');

/** The stores, the clock and the time limit of a catalog; by default those of the test file, the real time and ten seconds. */
export interface CatalogAt {
  readonly now?: () => number;
  readonly database?: { readonly client: ClickHouseClient };
  readonly redis?: Redis;
  /** How many replicas of it must confirm writes; none by default. */
  readonly waitReplicas?: number;
  /** Those from 1 on; none by default. */
  readonly otherQueueShards?: readonly Redis[];
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

/** Starts both stores. */
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
        waitReplicas: at.waitReplicas ?? 0,
        otherQueueShards: at.otherQueueShards ?? [],
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
