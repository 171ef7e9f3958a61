import { createHash } from 'node:crypto';
import { createServer, request as requestHttp, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Catalog, createCatalog } from '@waymark/catalog';
import { type ExportManifest, type ExportSchedule, parseResourceId } from '@waymark/contract';
import { QUEUE_PREFIX } from '@waymark/event-queue';
import { createLogger } from '@waymark/http-kit';
import {
  aClick,
  BUCKET,
  createTestDatabase,
  type ForkedService,
  forkService,
  insertClicks,
  type S3Server,
  startRedis,
  startS3Server,
  storeSettings,
  TEST_INSTANCE_KEY,
  type TestDatabase,
  type TestRedis,
  waitFor,
} from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { stablePort } from '../stable-port.js';
import { removeDataDir, temporaryDataDir } from './run-up.js';

// A window whose process is killed is completed by the next one. A proxy in front of the storage stops a request, before or after the
// storage has it, so that the kill never comes too late.

const CLICKS = 5500;
const HOUR_MS = 3_600_000;

let redis: TestRedis;
let database: TestDatabase;
let storage: S3Server;
let proxy: Server;
let client: Redis;
let catalog: Catalog;
let key: string;
let workspaceId: string;
let linkId: string;
let query: ForkedService;
const dataDir = temporaryDataDir();

/** The request that the proxy does not answer, and when it has come. */
interface Stop {
  readonly key: RegExp;
  readonly isStored: boolean;
  readonly reached: () => void;
}
let stop: Stop | undefined;
/** The keys of all uploads, in order. */
const uploads: string[] = [];

/** Sends requests on to the storage. */
function startProxy(): Server {
  return createServer(async (incoming, answer) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const { url: path = '', method, headers } = incoming;
    uploads.push(path.replace(/\?.*/, ''));
    const stopped = stop?.key.test(path) ? stop : undefined;
    if (stopped?.isStored === false) return stopped.reached();
    const outgoing = requestHttp(`${storage.url}${path}`, { method, headers }, (response) => {
      response.on('end', () => stopped?.reached());
      if (stopped === undefined) response.pipe(answer.writeHead(response.statusCode ?? 0, response.headers));
      else response.resume();
    });
    outgoing.end(Buffer.concat(chunks));
  });
}

async function startQuery(): Promise<void> {
  query = forkService(new URL('../../../query/dist/main.js', import.meta.url), {
    ...{ ...storeSettings(redis, database), DATA_DIR: dataDir },
    ...{ API_PORT: String(await stablePort(`query ${dataDir}`)), OUTBOUND_ALLOWED_RANGES: '127.0.0.0/8' },
  });
  await query.ready();
}

/** The start of the window that a webhook job is about. */
async function windowOfJob(jobId: string): Promise<string> {
  const job = JSON.parse((await client.hget(`${QUEUE_PREFIX}:webhook:${jobId}`, 'data')) ?? '') as {
    told: [{ body: string }];
  };
  const { data } = JSON.parse(job.told[0].body) as { data: { schedule: ExportSchedule } };
  return data.schedule.lastWindow?.window.start ?? '';
}

const startMs = (Math.floor(Date.now() / HOUR_MS) - 2) * HOUR_MS;

beforeAll(async () => {
  [redis, database, storage] = await Promise.all([startRedis(), createTestDatabase(), startS3Server()]);
  proxy = startProxy().listen(0, '127.0.0.1');
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
  ({ id: linkId } = await catalog.links.create(workspaceId, {
    ...{ domain: 'go.acme.com', key: 'a', url: 'https://acme.com/' },
  }));
  await catalog.webhooks.create(workspaceId, {
    ...{ name: 'Exports', url: 'https://hooks.example.com/', triggers: ['export.completed'] },
  });
  const ids = {
    workspaceId: parseResourceId('workspace', workspaceId) ?? '',
    linkId: parseResourceId('link', linkId) ?? '',
  };
  // Three share each millisecond.
  const rows = Array.from({ length: CLICKS }, (_, index) =>
    aClick({ ...ids, timestampMs: startMs + Math.floor(index / 3) }),
  );
  await insertClicks(database.client, rows);
  await startQuery();
}, 120_000);
afterAll(async () => {
  await query.kill9();
  await catalog.close();
  client.disconnect();
  proxy.closeAllConnections();
  proxy.close();
  removeDataDir(dataDir);
  await Promise.all([redis.stop(), database.drop(), storage.stop()]);
});

it('a window whose process is killed has every event once, in files that are those of its manifest, and one webhook', async () => {
  const steps = [
    { key: /-00002\./, isStored: true },
    { key: /-00004\./, isStored: false },
    { key: /manifest/, isStored: true },
  ].map((step) => {
    let reached = () => {};
    const isReached = new Promise<void>((resolve) => {
      reached = resolve;
    });
    return { ...step, reached, isReached };
  });
  stop = steps[0];
  const headers = { authorization: `Bearer ${key}` };
  const destination = {
    ...{ type: 's3', endpoint: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, region: 'us-east-1' },
    ...{ bucket: BUCKET, accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' },
  };
  const since = new Date(startMs).toISOString();
  const made = await fetch(`${query.url}/exports/schedules`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({
      ...{ resource: 'events', frequency: 'hourly', format: 'ndjson', rowsPerFile: 1000, since, destination },
    }),
  });
  expect([made.status, made.status === 201 ? '' : await made.text()]).toEqual([201, '']);
  const { id } = (await made.json()) as ExportSchedule;
  const folder = `${id}/${since.slice(0, 13)}`;

  const uploadsAtKill: number[] = [];
  for (const [index, step] of steps.entries()) {
    await step.isReached;
    await query.kill9();
    // As if the lease of the killed process had expired.
    await client.del(`waymark:export-job:${id}`);
    uploadsAtKill.push(uploads.length);
    expect(await storage.get(`${folder}/manifest.json`)).toEqual(index === 2 ? expect.any(String) : undefined);
    // A file that is written again has other bytes from here on.
    await catalog.links.update(workspaceId, linkId, (link) => ({ ...link, comments: `after kill ${index}` }));
    stop = steps[index + 1];
    await startQuery();
  }
  await waitFor(
    async () => {
      const answer = await fetch(`${query.url}/exports/schedules/${id}`, { headers });
      return ((await answer.json()) as ExportSchedule).nextWindow.start > since;
    },
    { what: 'the window' },
  );

  const manifest = JSON.parse((await storage.get(`${folder}/manifest.json`)) ?? '') as ExportManifest;
  const lines: string[] = [];
  for (const file of manifest.files) {
    const text = (await storage.get(file.key)) ?? '';
    expect(createHash('sha256').update(text).digest('hex')).toBe(file.sha256);
    lines.push(...text.trimEnd().split('\n'));
  }
  const clickIds = lines.map((line) => (JSON.parse(line) as { click: { id: string } }).click.id);
  const stored = await database.client.rows<[string]>({
    query: 'SELECT toString(click_id) FROM click_events ORDER BY timestamp, click_id',
  });
  expect(clickIds).toEqual(stored.map(([clickId]) => clickId));
  expect([manifest.rows, manifest.files.length]).toEqual([CLICKS, 6]);

  // Only what was not in the storage for certain was written again, and no file after the manifest.
  const names = (from: number, to?: number) => {
    const paths = uploads.slice(uploadsAtKill[from], to).filter((path) => path.includes(folder));
    return paths.map((path) => path.split('/').at(-1));
  };
  expect(names(0, uploadsAtKill[1])).toEqual(['clicks-00002.ndjson', 'clicks-00003.ndjson', 'clicks-00004.ndjson']);
  expect(names(1, uploadsAtKill[2])).toEqual([
    ...['clicks-00004.ndjson', 'clicks-00005.ndjson', 'clicks-00006.ndjson'],
    'manifest.json',
  ]);
  expect(names(2)).toEqual(['manifest.json']);

  const sent = await waitFor(
    async () => {
      const jobs = await client.lrange(`${QUEUE_PREFIX}:webhook:wait`, 0, -1);
      const starts = await Promise.all(jobs.map(windowOfJob));
      return starts.includes(since) && starts;
    },
    { what: 'the webhook' },
  );
  expect(sent.filter((start) => start === since)).toHaveLength(1);
}, 120_000);
