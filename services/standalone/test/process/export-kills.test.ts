import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Catalog, createCatalog } from '@waymark/catalog';
import { type ExportJob, parseResourceId } from '@waymark/contract';
import { createLogger } from '@waymark/http-kit';
import {
  aClick,
  createTestDatabase,
  type ForkedService,
  forkService,
  insertClicks,
  startRedis,
  startTcpProxy,
  storeSettings,
  type TcpProxy,
  TEST_INSTANCE_KEY,
  type TestDatabase,
  type TestRedis,
  waitFor,
} from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { stablePort } from '../stable-port.js';
import { removeDataDir, temporaryDataDir } from './run-up.js';

// An export job whose process is killed continues in the next one. ClickHouse is behind a proxy that stops answering in the middle of
// the job, so that the kill never comes too late.

const CLICKS = 40_000;

let redis: TestRedis;
let database: TestDatabase;
let proxy: TcpProxy;
let client: Redis;
let catalog: Catalog;
let key: string;
let query: ForkedService;
const dataDir = temporaryDataDir();

async function startQuery(): Promise<void> {
  const clickhouse = new URL(database.url);
  clickhouse.port = String(proxy.port);
  query = forkService(new URL('../../../query/dist/main.js', import.meta.url), {
    ...{ ...storeSettings(redis, database), CLICKHOUSE_URL: clickhouse.href },
    ...{ DATA_DIR: dataDir, API_PORT: String(await stablePort(`query ${dataDir}`)) },
  });
  await query.ready();
}

const headers = () => ({ authorization: `Bearer ${key}`, 'accept-encoding': 'identity' });
const get = (path: string) => fetch(`${query.url}${path}`, { headers: headers() });
const jobOf = async (id: string) => (await (await get(`/exports/${id}`)).json()) as ExportJob;

async function created(body: object): Promise<ExportJob> {
  const request = { method: 'POST', headers: { ...headers(), 'content-type': 'application/json' } };
  const answer = await fetch(`${query.url}/exports`, { ...request, body: JSON.stringify(body) });
  expect(answer.status).toBe(202);
  return (await answer.json()) as ExportJob;
}

const directoryOf = (id: string) => join(dataDir, 'exports', id);
const checkpointOf = (id: string, attempt: number) => join(directoryOf(id), String(attempt), 'checkpoint.json');

beforeAll(async () => {
  [redis, database] = await Promise.all([startRedis(), createTestDatabase()]);
  proxy = await startTcpProxy(Number(new URL(database.url).port));
  client = new Redis(redis.url);
  catalog = createCatalog({
    ...{
      redis: client,
      clickhouse: database.client,
      instanceKey: Buffer.from(TEST_INSTANCE_KEY, 'hex'),
      now: Date.now,
    },
    ...{ logger: createLogger({ name: 'test', level: 'silent' }), baseUrl: 'https://api.example.com' },
  });
  const { workspace, apiKey } = await catalog.workspaces.create({
    ...{ name: 'Acme', slug: 'acme', plan: 'enterprise', domain: 'go.acme.com' },
  });
  key = apiKey.token;
  const link = await catalog.links.create(workspace.id, { domain: 'go.acme.com', key: 'a', url: 'https://acme.com/' });
  const ids = {
    workspaceId: parseResourceId('workspace', workspace.id) ?? '',
    linkId: parseResourceId('link', link.id) ?? '',
  };
  const timestampMs = Date.now() - 60_000;
  // Three share each millisecond.
  const rows = Array.from({ length: CLICKS }, (_, index) =>
    aClick({ ...ids, timestampMs: timestampMs - Math.floor(index / 3) }),
  );
  await insertClicks(database.client, rows);
  await startQuery();
}, 120_000);
afterAll(async () => {
  await query.kill9();
  await catalog.close();
  client.disconnect();
  await proxy.stop();
  removeDataDir(dataDir);
  await Promise.all([redis.stop(), database.drop()]);
});

it.each([
  ['csv', 2],
  ['parquet', 1],
])(
  'a job whose process is killed has the same bytes as GET /events/export: %s, %i kills',
  async (format, kills) => {
    const { id } = await created({ resource: 'events', format, filters: { interval: '7d' } });
    const rowsAtKill: number[] = [];
    for (let attempt = 1; attempt <= kills; attempt++) {
      const rows = () => {
        const path = checkpointOf(id, attempt);
        return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as { rows: number }).rows : 0;
      };
      // The first checkpoint of a later attempt is that of the one before.
      const before = rowsAtKill.at(-1) ?? 0;
      await waitFor(() => rows() > before, { what: 'a checkpoint' });
      proxy.holdAnswers();
      rowsAtKill.push(rows());
      await query.kill9();
      // As if the lease of the killed process had expired.
      await client.del(`waymark:export-job:${id}`);
      expect(readdirSync(join(directoryOf(id), String(attempt)))).toContain('part');
      // The proxy drops the answers that it held back, which were for the killed process.
      proxy.cut();
      proxy.pass();
      await startQuery();
    }
    const job = await waitFor(
      async () => {
        const found = await jobOf(id);
        return found.status === 'completed' && found;
      },
      { what: 'the export to be completed' },
    );
    const [file, expected] = await Promise.all([
      (await get(`/exports/${id}/files/${job.files[0]?.name}`)).arrayBuffer(),
      (await get(`/events/export?format=${format}&interval=7d`)).arrayBuffer(),
    ]);
    expect(Buffer.from(file).equals(Buffer.from(expected))).toBe(true);
    expect(job).toMatchObject({ rows: CLICKS, bytes: file.byteLength });
    expect([Math.min(...rowsAtKill) >= 1000, Math.max(...rowsAtKill) < CLICKS]).toEqual([true, true]);
    // Neither a part nor an earlier attempt is left.
    expect(readdirSync(directoryOf(id), { recursive: true }).sort()).toEqual([
      `${kills + 1}`,
      `${kills + 1}/checkpoint.json`,
      `${kills + 1}/${job.files[0]?.name}`,
    ]);
  },
  120_000,
);
