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
  storeSettings,
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

// An import whose process is killed continues in the next one, and ends as it would have without the kills.

const ROWS = 3000;

let redis: TestRedis;
let database: TestDatabase;
let client: Redis;
let catalog: Catalog;
let workspaceId: string;
let key: string;
const started: ForkedService[] = [];
const dataDir = temporaryDataDir();

async function startManagement(name: string): Promise<ForkedService> {
  const port = await stablePort(`${name} ${dataDir}`);
  const management = forkService(new URL('../../../management/dist/main.js', import.meta.url), {
    ...{ ...storeSettings(redis, database), DATA_DIR: dataDir, API_PORT: String(port) },
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
  for (let kill = 1, before = 0; kill <= 2; kill++) {
    await waitFor(async () => rowsDone() > before, { what: 'a checkpoint' });
    await server.kill9();
    before = rowsDone();
    expect(before).toBeLessThan(ROWS);
    server = await startManagement(`after kill ${kill}`);
  }
  // Another process that looks for work leaves the import to the one that runs it.
  const second = await startManagement('second');
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
  const attempt = (await catalog.importJobs.get(workspaceId, id))?.attempt ?? 0;
  expect(attempt).toBeGreaterThanOrEqual(3);
  expect(attempts()).toEqual([attempt]);
}, 180_000);
