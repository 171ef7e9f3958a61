import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Catalog, createCatalog } from '@waymark/catalog';
import type { ImportJob } from '@waymark/contract';
import { createLogger } from '@waymark/http-kit';
import {
  createTestDatabase,
  type ForkedService,
  forkService,
  startRedis,
  startTcpProxy,
  storeSettings,
  type TcpProxy,
  TEST_INSTANCE_KEY,
  type TestDatabase,
  type TestRedis,
  waitFor,
} from '@waymark/test-kit';
import { parse } from 'csv-parse/sync';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { stablePort } from '../stable-port.js';
import { removeDataDir, temporaryDataDir } from './run-up.js';

// An import whose process is killed continues in the next one, and ends as it would have without the kills. ClickHouse is behind a proxy
// that holds back an insert in the middle of the import, so that the kill never comes too late.

const ROWS = 1000;
/** In the address of the request that stores a batch of links. */
const INSERT = 'INSERT+INTO+links';
/**
 * When processes are killed: before ClickHouse has stored a batch, and after that, without an answer. When the next process has started, their
 * locks last longer than a request waits for a lock, and not at all.
 */
const KILLS = [
  { isStored: false, locksMs: 13_000 },
  { isStored: true, locksMs: 0 },
];

let redis: TestRedis;
let database: TestDatabase;
let proxy: TcpProxy;
let client: Redis;
let catalog: Catalog;
let workspaceId: string;
let key: string;
const started: ForkedService[] = [];
const dataDir = temporaryDataDir();

async function startManagement(name: string, clickhousePort = proxy.port): Promise<ForkedService> {
  const port = await stablePort(`${name} ${dataDir}`);
  const clickhouse = Object.assign(new URL(database.url), { port: String(clickhousePort) });
  const management = forkService(new URL('../../../management/dist/main.js', import.meta.url), {
    ...{
      ...storeSettings(redis, database),
      CLICKHOUSE_URL: clickhouse.href,
      DATA_DIR: dataDir,
      API_PORT: String(port),
    },
  });
  started.push(management);
  await management.ready();
  return management;
}

const headers = () => ({ authorization: `Bearer ${key}` });

async function upload(url: string, table: string): Promise<ImportJob> {
  const body = new FormData();
  body.append('source', 'csv');
  body.append('file', new Blob([table]), 'links.csv');
  const answer = await fetch(`${url}/imports`, { method: 'POST', headers: headers(), body });
  expect(answer.status).toBe(202);
  return (await answer.json()) as ImportJob;
}

const jobOf = async (url: string, id: string) =>
  (await (await fetch(`${url}/imports/${id}`, { headers: headers() })).json()) as ImportJob;

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
  workspaceId = workspace.id;
  key = apiKey.token;
}, 120_000);
afterAll(async () => {
  for (const management of started) await management.kill9();
  await catalog.close();
  client.disconnect();
  removeDataDir(dataDir);
  await proxy.stop();
  await Promise.all([redis.stop(), database.drop()]);
});

it('an import whose process is killed ends as if it had not been, and two processes never run it at once', async () => {
  // Every tenth row is rejected, every fifth has a value that is lost, and each hundredth has the address of the one before.
  const rows = Array.from({ length: ROWS }, (_, index) => {
    const url = index % 10 === 9 ? 'no url' : `https://acme.com/${index % 100 === 51 ? index - 1 : index}`;
    return `${url},k${index % 100 === 51 ? index - 1 : index},${index % 5 === 0 ? 'x' : ''}`;
  });
  let server = await startManagement('first');
  const { id } = await upload(server.url, `url,key,other\n${rows.join('\n')}\n`);
  const [directory = ''] = readdirSync(join(dataDir, 'imports'));
  const root = join(dataDir, 'imports', directory);
  const attempts = () =>
    readdirSync(root)
      .map(Number)
      .filter((number) => number > 0);
  /** Rows at the last checkpoint. */
  const rowsDone = () => {
    const file = join(root, String(Math.max(0, ...attempts())), 'checkpoint.json');
    return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { counts: { rows: number } }).counts.rows : 0;
  };
  const lease = `waymark:import-job:${id}`;
  let before = 0;
  const stopInTheMiddle = async () => {
    await waitFor(() => rowsDone() > before, { what: 'a checkpoint' });
    proxy.holdRequestsAt(INSERT, 1);
    await waitFor(proxy.isHoldingRequests, { what: 'the next insert' });
    expect(rowsDone()).toBeLessThan(ROWS);
  };
  const storedLinks = async () => Number((await database.client.rows({ query: 'SELECT count() FROM links' }))[0]?.[0]);
  for (const [index, { isStored, locksMs }] of KILLS.entries()) {
    await stopInTheMiddle();
    const stored = await storedLinks();
    if (isStored) {
      proxy.holdAnswers();
      await waitFor(async () => (await storedLinks()) > stored, { what: 'the batch to be stored' });
    }
    await server.kill9();
    before = rowsDone();
    // As if the lease of the killed process had expired.
    await client.del(lease);
    const locks = await client.keys('waymark:lock:*');
    expect(locks.length).toBeGreaterThan(0);
    // The proxy drops what it held back of the killed process.
    proxy.cut();
    proxy.pass();
    server = await startManagement(`after kill ${index + 1}`);
    await Promise.all(locks.map((lock) => client.pexpire(lock, locksMs)));
  }
  // Another process that looks for work leaves the import to the one that runs it.
  await stopInTheMiddle();
  const monitor = await client.monitor();
  const isTried = new Promise<void>((resolve) =>
    monitor.on('monitor', (_time: string, [command, key]: string[]) => {
      if (command?.toLowerCase() === 'set' && key === lease) resolve();
    }),
  );
  const second = await startManagement('second', Number(new URL(database.url).port));
  await isTried;
  monitor.disconnect();
  proxy.pass();
  const job = await waitFor(
    async () => {
      const found = await jobOf(second.url, id);
      return found.status === 'completed' || found.status === 'failed' ? found : undefined;
    },
    { what: 'the end of the import' },
  );
  const doubled = ROWS / 100;
  expect(job).toMatchObject({ status: 'completed', error: null, rows: ROWS, rejected: ROWS / 10, lost: ROWS / 5 });
  expect([job.created, job.skipped]).toEqual([ROWS - ROWS / 10 - doubled, doubled]);
  // The root link is there from the start.
  expect(await catalog.links.count(workspaceId, { showArchived: true })).toBe(job.created + 1);
  for (const [name, count] of [
    ['rejected.csv', job.rejected],
    ['lost.csv', job.lost],
  ] as const) {
    const text = await (await fetch(`${second.url}/imports/${id}/${name}`, { headers: headers() })).text();
    const lines: { rejectedRow?: string; row?: string }[] = parse(text, { columns: true });
    expect([name, new Set(lines.map((line) => line.rejectedRow ?? line.row)).size, lines.length]).toEqual([
      name,
      count,
      count,
    ]);
  }
  const attempt = KILLS.length + 1;
  expect((await catalog.importJobs.get(workspaceId, id))?.attempt).toBe(attempt);
  expect(attempts()).toEqual([attempt]);
}, 180_000);
