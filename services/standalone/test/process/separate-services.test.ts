import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import {
  createTestDatabase,
  elapsedMs,
  type ForkedService,
  forkService,
  startRedis,
  storeSettings,
  type TestDatabase,
  type TestRedis,
  waitFor,
} from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { stablePort } from '../stable-port.js';
import { removeDataDir, temporaryDataDir } from './run-up.js';

/** Services that run as separate processes, as in a cluster. */

const SERVICES = ['ingest', 'query', 'management'] as const;
const ADMIN_KEY = 'an-admin-key'.repeat(3);
/** Settings of a Redis that can lose queued events. */
const WRONG = ['--appendonly', 'no', '--appendfsync', 'everysec', '--maxmemory-policy', 'allkeys-lru'];
/** More than the ten seconds that a start takes at most, for a busy machine. */
const START_MS_MAX = 30_000;

let redis: TestRedis;
let database: TestDatabase;
const dataDir = temporaryDataDir();
const started = new Map<string, ForkedService>();
const ports = new Map<string, number>();

function fork(service: string, name: string, settings: Readonly<Record<string, string>>): ForkedService {
  const forked = forkService(new URL(`../../../${service}/dist/main.js`, import.meta.url), {
    ...{ ...storeSettings(redis, database), DATA_DIR: dataDir, ADMIN_KEY, LOG_LEVEL: 'warn', ...settings },
  });
  started.set(name, forked);
  return forked;
}

async function start(
  service: (typeof SERVICES)[number],
  name: string = service,
  settings: Readonly<Record<string, string>> = {},
): Promise<void> {
  const port = await stablePort(`${name} ${dataDir}`);
  const linkPort = await stablePort(`${name} links ${dataDir}`);
  ports.set(name, port).set(`${name} links`, linkPort);
  await fork(service, name, { API_PORT: String(port), LINK_PORT: String(linkPort), ...settings }).ready();
}

beforeAll(async () => {
  [redis, database] = await Promise.all([startRedis({ args: WRONG }), createTestDatabase()]);
  for (const service of SERVICES) await start(service);
}, 180_000);
afterAll(async () => {
  for (const { child } of started.values()) child.kill('SIGKILL');
  removeDataDir(dataDir);
  await Promise.all([redis.stop(), database.drop()]);
});

const scrape = async (url: string) => {
  const authorization = `Basic ${Buffer.from(`prometheus:${ADMIN_KEY}`).toString('base64')}`;
  return (await fetch(url, { headers: { authorization } })).text();
};

it.each(SERVICES)('%s serves its own metrics, and those of the other services', async (service) => {
  const url = `http://127.0.0.1:${ports.get(service)}/metrics`;
  const text = await waitFor(
    async () => {
      const answer = await scrape(url);
      return (
        SERVICES.every((other) =>
          answer.includes(`waymark_component_up{component="${other}",service="${service}"} 1`),
        ) && answer
      );
    },
    { what: 'all three to be up' },
  );
  expect(text).toMatch(/^waymark_http_request_duration_seconds_count\{method="GET",route="\/readyz"/m);
  const withoutKey = await fetch(url);
  expect([withoutKey.status, (await withoutKey.text()).includes('waymark_')]).toEqual([401, false]);
});

it.each([...SERVICES, 'writer'])(
  '%s warns of a Redis that can lose queued events, with a line for each setting',
  async (service) => {
    const { output } = started.get(service) ?? fork(service, service, { WRITER_PORT: '0' });
    await waitFor(
      () => WRONG.filter((word) => word.startsWith('--')).every((word) => output().includes(word.slice(2))),
      {
        what: `the warnings of ${service}`,
      },
    );
    for (const setting of [
      'appendonly is no',
      'appendfsync is everysec',
      'maxmemory-policy is allkeys-lru',
      'maxmemory is 0',
    ]) {
      expect(output()).toContain(`REDIS_URL: ${setting}, not `);
    }
  },
);

it('on the link port /metrics may be a short link', async () => {
  const answer = await fetch(`http://127.0.0.1:${ports.get('ingest links')}/metrics`);
  expect(answer.status).toBe(404);
  expect(await answer.text()).not.toContain('waymark_');
});

it('a stopped service deregisters, so that it does not count as killed', async () => {
  const { child } = started.get('query') as ForkedService;
  child.kill('SIGTERM');
  await once(child, 'exit');
  const line = (name: string) => `waymark_component_${name}{component="query",service="management"}`;
  await waitFor(
    async () => {
      const answer = await scrape(`http://127.0.0.1:${ports.get('management')}/metrics`);
      return answer.includes(`${line('up')} 0`) && answer.includes(`${line('kills_total')} 0`);
    },
    { what: 'query to be down' },
  );
});

it('ingest starts within seconds while ClickHouse accepts connections and does not answer', async () => {
  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const CLICKHOUSE_URL = `http://127.0.0.1:${port}`;
  const startMs = await elapsedMs(() => start('ingest', 'ingest without ClickHouse', { CLICKHOUSE_URL }));
  expect(startMs).toBeLessThan(START_MS_MAX);
  silent.close();
});
