import {
  createTestDatabase,
  type ForkedService,
  forkService,
  startRedis,
  storeSettings,
  type TestDatabase,
  type TestRedis,
  waitFor,
} from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { removeDataDir, temporaryDataDir } from './run-up.js';

const SERVICES = ['ingest', 'query', 'management', 'writer'] as const;
const WRONG = ['--appendonly', 'no', '--appendfsync', 'everysec', '--maxmemory-policy', 'allkeys-lru'];

let redis: TestRedis;
let database: TestDatabase;
const dataDir = temporaryDataDir();
const started: ForkedService[] = [];

beforeAll(async () => {
  [redis, database] = await Promise.all([startRedis({ args: WRONG }), createTestDatabase()]);
});
afterAll(async () => {
  for (const { child } of started) child.kill('SIGKILL');
  removeDataDir(dataDir);
  await Promise.all([redis.stop(), database.drop()]);
});

/** Starts a service on its own. */
function start(service: (typeof SERVICES)[number]): ForkedService {
  const forked = forkService(new URL(`../../../${service}/dist/main.js`, import.meta.url), {
    ...{ ...storeSettings(redis, database), DATA_DIR: dataDir, LOG_LEVEL: 'warn' },
    ...{ API_PORT: '0', LINK_PORT: '0', WRITER_PORT: '0' },
  });
  started.push(forked);
  return forked;
}

it.each(SERVICES)('%s warns of a Redis that can lose queued events, with a line for each setting', async (service) => {
  const { output } = start(service);
  await waitFor(() => WRONG.filter((word) => word.startsWith('--')).every((word) => output().includes(word.slice(2))), {
    what: `the warnings of ${service}`,
  });
  for (const setting of [
    'appendonly is no',
    'appendfsync is everysec',
    'maxmemory-policy is allkeys-lru',
    'maxmemory is 0',
  ]) {
    expect(output()).toContain(`REDIS_URL: ${setting}, not `);
  }
});
