import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { environmentWith } from '@waymark/config';
import { createTestDatabase, startRedis, type TestDatabase, type TestRedis, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { removeDataDir, temporaryDataDir } from './run-up.js';

const SERVICES = ['ingest', 'query', 'management', 'writer'] as const;
const WRONG = ['--appendonly', 'no', '--appendfsync', 'everysec', '--maxmemory-policy', 'allkeys-lru'];

let redis: TestRedis;
let database: TestDatabase;
const dataDir = temporaryDataDir();
const children: ChildProcess[] = [];

beforeAll(async () => {
  [redis, database] = await Promise.all([startRedis({ args: WRONG }), createTestDatabase()]);
});
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  removeDataDir(dataDir);
  await Promise.all([redis.stop(), database.drop()]);
});

/** Starts a service on its own. @returns a function that gives its log so far */
function start(service: (typeof SERVICES)[number]): () => string {
  const child = fork(fileURLToPath(new URL(`../../../${service}/dist/main.js`, import.meta.url)), [], {
    execArgv: [],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env: environmentWith({
      DATA_DIR: dataDir,
      REDIS_URL: redis.url,
      CLICKHOUSE_URL: database.url,
      CLICKHOUSE_DATABASE: database.database,
      INSTANCE_KEY: '07'.repeat(32),
      API_PORT: '0',
      LINK_PORT: '0',
      WRITER_PORT: '0',
      LOG_LEVEL: 'warn',
    }),
  });
  children.push(child);
  let logged = '';
  child.stdout?.on('data', (data) => {
    logged += String(data);
  });
  return () => logged;
}

it.each(SERVICES)('%s warns of a Redis that can lose queued events, with a line for each setting', async (service) => {
  const logged = start(service);
  await waitFor(() => WRONG.filter((word) => word.startsWith('--')).every((word) => logged().includes(word.slice(2))), {
    what: `the warnings of ${service}`,
  });
  for (const setting of [
    'appendonly is no',
    'appendfsync is everysec',
    'maxmemory-policy is allkeys-lru',
    'maxmemory is 0',
  ]) {
    expect(logged()).toContain(`REDIS_URL: ${setting}, not `);
  }
});
