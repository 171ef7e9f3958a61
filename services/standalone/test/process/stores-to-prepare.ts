import { rmSync } from 'node:fs';
import { createCatalog } from '@waymark/catalog';
import { loadSettings } from '@waymark/config';
import { createLogger } from '@waymark/http-kit';
import { createTestDatabase, startRedis, temporaryDirectory } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import { prepareStores } from '../../src/prepare-stores.js';

const INSTANCE_KEY = Buffer.alloc(32, 7);
const logger = createLogger({ name: 'test', level: 'silent' });

/** Empty stores, and the preparation of a start on them. */
export async function storesToPrepare() {
  const [database, redis] = await Promise.all([createTestDatabase(), startRedis()]);
  const dataDir = temporaryDirectory('waymark-restored-');
  const client = new Redis(redis.url);
  const catalog = createCatalog({
    ...{ redis: client, clickhouse: database.client, instanceKey: INSTANCE_KEY, now: Date.now, logger },
    baseUrl: 'https://api.example.com',
  });
  onTestFinished(async () => {
    await catalog.close();
    client.disconnect();
    await Promise.all([redis.stop(), database.drop()]);
    rmSync(dataDir, { recursive: true });
  });
  const settings = loadSettings({
    ...{ DATA_DIR: dataDir, INSTANCE_KEY: INSTANCE_KEY.toString('hex') },
    ...{ REDIS_URL: redis.url, CLICKHOUSE_URL: database.url, CLICKHOUSE_DATABASE: database.database },
  });
  const instanceKeys = { current: INSTANCE_KEY, previous: undefined, others: [], deriving: INSTANCE_KEY };
  const lines: string[] = [];
  const prepare = (domain = 'localhost') =>
    prepareStores({
      stores: { redisUrl: redis.url, clickhouseUrl: database.url, instanceKeys },
      ...{ settings, domain, logger, report: (line: string) => lines.push(line) },
    });
  return { catalog, database, client, dataDir, prepare, lines };
}
