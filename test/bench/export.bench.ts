// GET /events/export: rows a second and CPU of each format, memory that an export adds, and how much slower the first page of GET
// /events is beside two exports. `--rows` sets the number of clicks of the workspace.

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { parseArgs } from 'node:util';
import { createCatalog } from '@waymark/catalog';
import { insertRows } from '@waymark/clickhouse';
import { createEventId, parseResourceId } from '@waymark/contract';
import { clickRow, EVENT_TABLES } from '@waymark/event-format';
import { Redis } from 'ioredis';
import { closedLoop } from './lib/http-load.js';
import { processCpuMicroseconds } from './lib/process-cpu.js';
import { processMemory } from './lib/process-use.js';
import { machineLine, printTable } from './lib/report.js';
import { startService } from './lib/service.js';
import { percentile } from './lib/statistics.js';
import { INSTANCE_KEY, startStores } from './lib/stores.js';
import { eventId } from './query/dataset/sql.js';

const { values } = parseArgs({ options: { rows: { type: 'string', default: '2000000' } } });
const ROWS = Number(values.rows);
const TEMPLATES = 20_000;
const LINKS = 200;
const DAY_MS = 24 * 3_600_000;
const PAGES = 400;
/** Pages are read alone and beside exports in turn. */
const ROUNDS = 5;

const stores = await startStores();
const query = await startService('query', stores.environment);

async function createWorkspace() {
  const redis = new Redis(stores.redis.url);
  const catalog = createCatalog({
    ...{ redis, clickhouse: stores.client, instanceKey: Buffer.from(INSTANCE_KEY, 'hex'), now: Date.now },
    ...{ logger: { warn() {} }, baseUrl: 'http://127.0.0.1' },
  });
  const domain = 'go.bench.test';
  const created = await catalog.workspaces.create({ name: 'Bench', slug: 'bench', plan: 'enterprise', domain });
  await catalog.workspaces.update(created.workspace.id, { analyticsPerSecond: 1_000_000 });
  const links = await Promise.all(
    Array.from({ length: LINKS }, (_, index) =>
      catalog.links.create(created.workspace.id, { domain, key: `k${index}`, url: `https://example.com/${index}` }),
    ),
  );
  await catalog.close();
  redis.disconnect();
  return { id: created.workspace.id, token: created.apiKey.token, links };
}

/** Clicks of a day, then copies of them with ids and times of their own, a day earlier each. */
async function fill({ id, links }: Awaited<ReturnType<typeof createWorkspace>>): Promise<void> {
  const workspaceId = parseResourceId('workspace', id) ?? '0';
  const now = Date.now() - 60 * 60_000;
  const clicks = Array.from({ length: TEMPLATES }, (_, index) => {
    const timestampMs = now - Math.floor((index / TEMPLATES) * 0.9 * DAY_MS);
    return clickRow({
      workspaceId,
      linkId: parseResourceId('link', links[(index * 7919) % LINKS]?.id ?? '') ?? '0',
      clickId: createEventId(timestampMs),
      timestampMs,
      trigger: index % 5 === 0 ? 'qr' : 'link',
      url: `https://example.com/landing/${index % 50}?utm_source=bench&utm_campaign=c${index % 20}&ref=${randomUUID()}`,
      country: ['US', 'DE', 'FR', 'IN'][index % 4] ?? '',
      region: 'CA',
      city: ['Austin', 'Berlin', 'Lyon', 'Pune'][index % 4] ?? '',
      continent: 'NA',
      device: 'Desktop',
      browser: 'Chrome',
      os: 'Windows',
      userAgent: 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0',
      referer: 'news.example.com',
      refererUrl: 'https://news.example.com/story',
      ip: `203.0.113.${index % 256}`,
    });
  });
  const { table, columns } = EVENT_TABLES.click;
  await insertRows(stores.client, { table, columns: columns[1], rows: clicks });
  const list = columns[1].join(', ');
  for (let copy = 1; copy < ROWS / TEMPLATES; copy += 1) {
    const ms = `(toUnixTimestamp64Milli(timestamp) - ${copy * DAY_MS})`;
    await stores.client.command({
      query: `INSERT INTO ${table} (${list})
SELECT * REPLACE (fromUnixTimestamp64Milli(toInt64(${ms})) AS timestamp, ${eventId(ms, `cityHash64(click_id, ${copy})`)} AS click_id)
FROM (SELECT ${list} FROM ${table} WHERE timestamp > fromUnixTimestamp64Milli(${now - DAY_MS}))`,
    });
  }
}

interface Use {
  readonly seconds: number;
  readonly serviceCpu: number;
  readonly clickhouseCpu: number;
}

async function used(work: () => Promise<void>): Promise<Use> {
  const cpu = () => [query.pid, stores.clickhouse.pid].map(processCpuMicroseconds) as [number, number];
  const [[service, clickhouse], start] = [cpu(), performance.now()];
  await work();
  const seconds = (performance.now() - start) / 1000;
  const [serviceAfter, clickhouseAfter] = cpu();
  return {
    seconds,
    serviceCpu: (serviceAfter - service) / 1e6,
    clickhouseCpu: (clickhouseAfter - clickhouse) / 1e6,
  };
}

/** Reads an export to its end. @returns rows and bytes */
async function readExport(
  token: string,
  parameters: string,
  signal?: AbortSignal,
  onChunk: (chunk: Buffer) => void = () => {},
) {
  const headers = { authorization: `Bearer ${token}` };
  const path = `/events/export?${parameters}`;
  const request = httpRequest({ port: query.port, path, headers, ...(signal && { signal }) });
  const [response] = (await once(request.end(), 'response')) as [IncomingMessage];
  let bytes = 0;
  for await (const chunk of response) {
    bytes += (chunk as Buffer).length;
    onChunk(chunk as Buffer);
  }
  return { rows: Number(response.trailers['x-export-rows']), bytes };
}

const workspace = await createWorkspace();
await fill(workspace);
console.log(`\n${machineLine()}\n`);

const table: (string | number)[][] = [];
/** Of NDJSON. */
let bytesPerRow = 0;
for (const format of ['ndjson', 'csv', 'parquet']) {
  // Warms the code up.
  await readExport(workspace.token, `interval=24h&format=${format}`);
  const before = processMemory(query.pid).anonymous;
  let most = before;
  const watch = setInterval(() => {
    most = Math.max(most, processMemory(query.pid).anonymous);
  }, 100);
  let result = { rows: 0, bytes: 0 };
  const { seconds, serviceCpu, clickhouseCpu } = await used(async () => {
    result = await readExport(workspace.token, `interval=all&format=${format}`);
  });
  clearInterval(watch);
  if (format === 'ndjson') bytesPerRow = result.bytes / result.rows;
  table.push([
    format,
    result.rows,
    (result.bytes / 1e6).toFixed(0),
    (result.rows / seconds).toFixed(0),
    (result.rows / serviceCpu).toFixed(0),
    (result.rows / (serviceCpu + clickhouseCpu)).toFixed(0),
    (most - before).toFixed(0),
  ]);
}
printTable(
  ['format', 'rows', 'MB', 'rows a second', 'rows a CPU second of ours', 'of ours and ClickHouse', 'memory added, MB'],
  table,
);

/** First pages of the list, one after another. */
async function pages(): Promise<readonly number[]> {
  const text = `GET /events?limit=100 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${workspace.token}\r\n\r\n`;
  const { latenciesMs } = await closedLoop({ port: query.port, connections: 1, count: PAGES, request: () => text });
  return latenciesMs;
}
/** First pages beside two exports, and the rows of these a second. */
async function pagesBesideExports() {
  const stop = new AbortController();
  let bytes = 0;
  const count = (chunk: Buffer) => {
    bytes += chunk.length;
  };
  const exports = [0, 1].map(() =>
    readExport(workspace.token, 'interval=all&format=ndjson', stop.signal, count).catch(() => undefined),
  );
  const start = performance.now();
  const latencies = await pages();
  const seconds = (performance.now() - start) / 1000;
  stop.abort();
  await Promise.all(exports);
  return { latencies, rowsPerSecond: bytes / bytesPerRow / seconds };
}

await pages();
const alone: number[] = [];
const beside: number[] = [];
const rates: number[] = [];
for (let round = 0; round < ROUNDS; round += 1) {
  alone.push(...(await pages()));
  const { latencies, rowsPerSecond } = await pagesBesideExports();
  beside.push(...latencies);
  rates.push(rowsPerSecond);
}
const row = (name: string, latencies: readonly number[]) => [
  name,
  percentile(latencies, 0.5).toFixed(1),
  percentile(latencies, 0.99).toFixed(1),
];
printTable(['first page of GET /events', 'p50 ms', 'p99 ms'], [row('alone', alone), row('beside two exports', beside)]);
console.log(`\np99 beside ÷ alone: ${(percentile(beside, 0.99) / percentile(alone, 0.99)).toFixed(2)}`);
console.log(`Rows a second of the two exports meanwhile: ${percentile(rates, 0.5).toFixed(0)}`);

await query.stop();
await stores.stop();
