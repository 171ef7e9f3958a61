import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { environmentWith } from '@waymark/config';
import { GenericContainer, getContainerRuntimeClient, type StartedTestContainer, Wait } from 'testcontainers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/**
 * Runs the same store tests against the images of docker-compose.yml instead of the embedded ClickHouse and the redis-server of this
 * machine. Files that start or kill a server are left out, because they cannot do so with a container.
 */
const IMAGES = { clickhouse: composeImage('clickhouse/clickhouse-server'), redis: composeImage('redis') };
const ROOMS = ['clickhouse', 'catalog', 'event-query', 'event-queue', 'rate-limit'];
const EMBEDDED_ONLY = ['kill9(', 'startClickHouse(', 'startEngineAs(', 'restart('];
const MINUTES_10 = 600_000;

function composeImage(name: string): string {
  const found = new RegExp(`image: (${name}:\\S+)`).exec(readFileSync('docker-compose.yml', 'utf8'))?.[1];
  if (found === undefined) throw new Error(`docker-compose.yml names no image ${name}`);
  return found;
}

function storeTests(): string[] {
  const files = ROOMS.flatMap((room) => {
    const folder = join('packages', room, 'test');
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.test.ts'))
      .map((name) => join(folder, name));
  });
  const others = ['packages/clickhouse-embedded/test/parameters.test.ts', 'test/dashboards/grafana.test.ts'];
  return [...files, ...others].filter((file) => {
    const text = readFileSync(file, 'utf8');
    return !EMBEDDED_ONLY.some((word) => text.includes(word));
  });
}

function runTests(
  files: readonly string[],
  env: Record<string, string>,
): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    // One file after another, because the numbers of the databases of a Redis are counted within one process.
    const args = ['--no-install', 'vitest', 'run', '--no-file-parallelism', '--maxWorkers=1', ...files];
    const child = spawn('npx', args, { env: environmentWith(env), stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (data) => {
        output += data;
      });
    }
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output }));
  });
}

const hasDocker = await getContainerRuntimeClient().then(
  () => true,
  () => false,
);
if (!hasDocker)
  console.log(`no Docker engine answers: the store tests against ${Object.values(IMAGES).join(' and ')} are skipped`);

describe.skipIf(!hasDocker)('against the images of production', () => {
  let clickhouse: StartedTestContainer;
  let redis: StartedTestContainer;

  beforeAll(async () => {
    [clickhouse, redis] = await Promise.all([
      new GenericContainer(IMAGES.clickhouse)
        .withEnvironment({ CLICKHOUSE_SKIP_USER_SETUP: '1' })
        .withCopyFilesToContainer([
          { source: 'clickhouse/config/server.xml', target: '/etc/clickhouse-server/config.d/waymark.xml' },
          { source: 'clickhouse/config/users.xml', target: '/etc/clickhouse-server/users.d/waymark.xml' },
        ])
        .withExposedPorts(8123)
        .withWaitStrategy(Wait.forHttp('/ping', 8123))
        .start(),
      new GenericContainer(IMAGES.redis)
        .withCommand([
          'redis-server',
          '--appendonly',
          'yes',
          '--appendfsync',
          'always',
          '--maxmemory-policy',
          'noeviction',
        ])
        .withExposedPorts(6379)
        .withWaitStrategy(Wait.forLogMessage('Ready to accept connections'))
        .start(),
    ]);
  }, MINUTES_10);

  afterAll(() => Promise.all([clickhouse?.stop(), redis?.stop()]));

  test('every store test passes', { timeout: MINUTES_10 }, async () => {
    const files = storeTests();
    expect(files.length).toBeGreaterThan(5);
    const { code, output } = await runTests(files, {
      WAYMARK_TEST_CLICKHOUSE_URL: `http://${clickhouse.getHost()}:${clickhouse.getMappedPort(8123)}`,
      WAYMARK_TEST_REDIS_URL: `redis://${redis.getHost()}:${redis.getMappedPort(6379)}`,
    });
    expect(code, output).toBe(0);
  });
});
