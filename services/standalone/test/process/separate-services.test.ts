import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
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
import { stablePort } from '../stable-port.js';
import { removeDataDir, temporaryDataDir } from './run-up.js';

/** Services that run as separate processes, as in a cluster. */

const SERVICES = ['ingest', 'query', 'management'] as const;
const ADMIN_KEY = 'an-admin-key'.repeat(3);

let redis: TestRedis;
let database: TestDatabase;
const dataDir = temporaryDataDir();
const started = new Map<string, ForkedService>();
const ports = new Map<string, number>();

async function start(
  service: (typeof SERVICES)[number],
  name: string = service,
  settings: Readonly<Record<string, string>> = {},
): Promise<void> {
  const port = await stablePort(`${name} ${dataDir}`);
  const linkPort = await stablePort(`${name} links ${dataDir}`);
  ports.set(name, port).set(`${name} links`, linkPort);
  const forked = forkService(new URL(`../../../${service}/dist/main.js`, import.meta.url), {
    ...{ ...storeSettings(redis, database), DATA_DIR: dataDir, ADMIN_KEY },
    ...{ API_PORT: String(port), LINK_PORT: String(linkPort), ...settings },
  });
  started.set(name, forked);
  await forked.ready();
}

beforeAll(async () => {
  [redis, database] = await Promise.all([startRedis(), createTestDatabase()]);
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
  await start('ingest', 'ingest without ClickHouse', { CLICKHOUSE_URL: `http://127.0.0.1:${port}` });
  silent.close();
});
