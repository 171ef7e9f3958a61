// Compares this checkout with another one, such as the commit before a change. Both services use the same stores and are measured
// alternately, so that a slow phase of the machine affects both.
// `npm run bench -- checkouts --other ../before [--clicks 1000000] [--only redirect,events,links]`.
// The other checkout must be built. Ratios above 1 mean that this checkout is slower.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { startClickHouse, startRedis } from '@waymark/test-kit';
import { closedLoop } from './lib/http-load.js';
import { processCpuMicroseconds } from './lib/process-cpu.js';
import { machineLine, printTable } from './lib/report.js';
import { type BenchService, startService } from './lib/service.js';
import { median } from './lib/statistics.js';
import { BENCH_DOMAIN, createBenchLink, INSTANCE_KEY, startStores } from './lib/stores.js';
import { visitorRequest } from './lib/visitors.js';
import { BIG_RANK, generateWorld, knownOf } from './query/dataset/generate.js';
import { DAY_MS, END_MS, sizesFor } from './query/dataset/world.js';

const { values } = parseArgs({
  options: {
    other: { type: 'string' },
    clicks: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '31' },
    only: { type: 'string', default: 'redirect,events,links' },
  },
});
if (values.other === undefined) throw new Error('--other <checkout> is missing: a built checkout to compare with');
const other = resolve(values.other);
const rounds = Number(values.rounds);
const only = new Set(values.only.split(','));
const REDIRECTS = 2_500;
const CONNECTIONS = 64;
const REGULARS = 50;

/** The requests that a round sends to a service. */
interface Case {
  readonly name: string;
  readonly count: number;
  readonly connections: number;
  /** The text of request number `index` of a round. */
  readonly request: (round: number, index: number) => string;
  readonly status: string;
}

interface Pair {
  readonly now: BenchService;
  readonly before: BenchService;
}

interface Measured {
  readonly cpuUs: number;
  readonly latencyMs: number;
}

async function startPair(name: 'ingest' | 'management' | 'query', environment: Readonly<Record<string, string>>) {
  return { now: await startService(name, environment), before: await startService(name, environment, other) };
}

async function measure(service: BenchService, one: Case, round: number): Promise<Measured> {
  const { count, connections } = one;
  const cpuBefore = processCpuMicroseconds(service.pid);
  const request = (index: number) => one.request(round, index);
  const report = await closedLoop({ port: service.port, count, connections, request });
  if (report.statuses[one.status] !== count) throw new Error(`${one.name}: ${JSON.stringify(report.statuses)}`);
  return {
    cpuUs: (processCpuMicroseconds(service.pid) - cpuBefore) / count,
    latencyMs: median(report.latenciesMs),
  };
}

/** Measures one case: CPU and latency of a request on each side, and the ratios. The service that goes first alternates. */
async function compare(pair: Pair, one: Case): Promise<string[]> {
  const all: Record<keyof Pair, Measured[]> = { now: [], before: [] };
  for (let round = -2; round < rounds; round++) {
    for (const side of round % 2 === 0 ? (['now', 'before'] as const) : (['before', 'now'] as const)) {
      const measured = await measure(pair[side], one, round);
      if (round >= 0) all[side].push(measured);
    }
  }
  // The kernel counts CPU time in steps of 10 ms, so the mean over all rounds is used for CPU.
  const cpuOf = (side: keyof Pair) => all[side].reduce((sum, { cpuUs }) => sum + cpuUs, 0) / rounds;
  const latencyOf = (side: keyof Pair) => median(all[side].map(({ latencyMs }) => latencyMs));
  const [cpu, cpuBefore] = [cpuOf('now'), cpuOf('before')];
  const [latency, latencyBefore] = [latencyOf('now'), latencyOf('before')];
  console.error(`${one.name}: ${(latency / latencyBefore).toFixed(2)}`);
  return [
    one.name,
    latencyBefore.toFixed(2),
    latency.toFixed(2),
    (latency / latencyBefore).toFixed(2),
    cpuBefore.toFixed(0),
    cpu.toFixed(0),
    (cpu / cpuBefore).toFixed(2),
  ];
}

async function stopPair({ now, before }: Pair): Promise<void> {
  await Promise.all([now.stop(), before.stop()]);
}

async function reads(): Promise<string[][]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'waymark-bench-'));
  const redis = await startRedis();
  const clickhouse = await startClickHouse({ dataDir });
  const world = await generateWorld({
    clickhouseUrl: clickhouse.url,
    redisUrl: redis.url,
    sizes: sizesFor(Number(values.clicks), 1),
    progress: (line) => console.error(line),
  });
  const environment = {
    ...{ REDIS_URL: redis.url, CLICKHOUSE_URL: clickhouse.url, CLICKHOUSE_DATABASE: world.database },
    ...{ INSTANCE_KEY, LOG_LEVEL: 'warn' },
  };
  const { token } = knownOf(world, BIG_RANK);
  const get = (path: string, query: Readonly<Record<string, string>>) =>
    `GET ${path}?${new URLSearchParams(query)} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`;
  /** A time range that no other round or request uses. */
  const window = (round: number, index: number) => {
    const end = END_MS - (round + 2) * 10 * DAY_MS - index * 3_600_000;
    return { start: new Date(end - 30 * DAY_MS).toISOString(), end: new Date(end).toISOString() };
  };
  const page = { connections: 1, count: 20, status: '200' };
  const query = await startPair('query', environment);
  const management = await startPair('management', environment);
  try {
    const rows: string[][] = [];
    for (const event of only.has('events') ? ['clicks', 'leads', 'sales'] : []) {
      const first = (round: number, index: number) => get('/events', { event, ...window(round, index) });
      rows.push(await compare(query, { ...page, name: `GET /events, ${event}, a new window`, request: first }));
      const again = () => get('/events', { event, interval: 'all' });
      rows.push(await compare(query, { ...page, name: `GET /events, ${event}, again`, request: again }));
    }
    const links = (extra: Record<string, string>) => () => get('/links', { pageSize: '100', ...extra });
    const lists = [
      { name: 'GET /links', request: links({}) },
      { name: 'GET /links, page 2', request: links({ page: '2' }) },
      { name: 'GET /links by clicks', request: links({ sortBy: 'clicks' }) },
    ];
    for (const list of only.has('links') ? lists : []) rows.push(await compare(management, { ...page, ...list }));
    return rows;
  } finally {
    await Promise.all([stopPair(query), stopPair(management)]);
    await clickhouse.stop();
    await redis.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function redirects(): Promise<string[][]> {
  const stores = await startStores();
  const { plainKey } = await createBenchLink(stores);
  const ingest = await startPair('ingest', stores.environment);
  const load = { connections: CONNECTIONS, count: REDIRECTS, status: '302' };
  let visitor = 0;
  try {
    return [
      await compare(ingest, {
        ...load,
        name: 'redirect, new visitors',
        request: () => visitorRequest(BENCH_DOMAIN, plainKey, visitor++),
      }),
      await compare(ingest, {
        ...load,
        name: `redirect, the same ${REGULARS} visitors again`,
        request: (_round, index) => visitorRequest(BENCH_DOMAIN, plainKey, index % REGULARS),
      }),
      await compare(ingest, {
        ...load,
        name: 'redirect, robots',
        request: (_round, index) => visitorRequest(BENCH_DOMAIN, plainKey, index, ['dub-no-track: 1']),
      }),
    ];
  } finally {
    await stopPair(ingest);
    await stores.stop();
  }
}

console.log(`\n${machineLine()}\n`);
printTable(
  ['a request', 'before, median ms', 'now, ms', 'now ÷ before', 'before, mean µs of CPU', 'now, µs', 'now ÷ before'],
  [
    ...(only.has('redirect') ? await redirects() : []),
    ...(only.has('events') || only.has('links') ? await reads() : []),
  ],
);
