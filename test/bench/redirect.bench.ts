// Redirects compared with a bare Fastify 302: CPU per request of both processes, CPU of Redis per click, and the latency at a fixed
// rate. Clicks of new visitors are claimed and recorded before the redirect; those of returning visitors are claimed already; robots
// are not recorded.

import { closedLoop, type LoadReport, openLoop } from './lib/http-load.js';
import { processCpuMicroseconds } from './lib/process-cpu.js';
import { machineLine, printTable } from './lib/report.js';
import { startBareFastify, startService } from './lib/service.js';
import { median, percentile } from './lib/statistics.js';
import { BENCH_DOMAIN, createBenchLink, startStores } from './lib/stores.js';
import { visitorRequest } from './lib/visitors.js';

const ROUNDS = 5;
const REQUESTS = 10_000;
const CONNECTIONS = 64;
const MANY_CONNECTIONS = 512;
const REGULARS = 50;
const RATE_PER_SECOND = 2000;
const RATE_SECONDS = 10;

const stores = await startStores();
const { key: trackedKey, plainKey } = await createBenchLink(stores);
const ingest = await startService('ingest', stores.environment);
const writer = await startService('writer', stores.environment);
const bare = await startBareFastify();
let nextVisitor = 0;

function checked(report: LoadReport): LoadReport {
  const others = Object.keys(report.statuses).filter((status) => status !== '302');
  if (others.length > 0) throw new Error(`answers other than 302: ${JSON.stringify(report.statuses)}`);
  return report;
}

/** A kind of requests. */
interface Traffic {
  readonly name: string;
  readonly key: string;
  readonly connections: number;
  /** Headers in addition to those of a visitor. */
  readonly more?: readonly string[];
  /** Number of visitors that return again and again; by default all are new. */
  readonly regulars?: number;
}

const NEW_VISITORS: Traffic = { name: 'new visitors', key: plainKey, connections: CONNECTIONS };

function load({ key, connections, more, regulars }: Traffic, port: number, count: number) {
  const first = regulars === undefined ? nextVisitor : 0;
  if (regulars === undefined) nextVisitor += count;
  return {
    port,
    count,
    connections,
    request: (index: number) => visitorRequest(BENCH_DOMAIN, key, first + (index % (regulars ?? count)), more),
  };
}

async function cpuPerRequest(
  traffic: Traffic,
  server: { pid: number; port: number },
  count: number,
): Promise<{ server: number; redis: number }> {
  const before = { server: processCpuMicroseconds(server.pid), redis: processCpuMicroseconds(stores.redis.pid) };
  checked(await closedLoop(load(traffic, server.port, count)));
  return {
    server: (processCpuMicroseconds(server.pid) - before.server) / count,
    redis: (processCpuMicroseconds(stores.redis.pid) - before.redis) / count,
  };
}

async function untilWritten(count: number): Promise<void> {
  for (;;) {
    const result = await stores.client.query({
      query: 'SELECT toUInt32(count()) AS clicks FROM click_events',
      format: 'JSONEachRow',
    });
    const [row] = await result.json<{ clicks: number }>();
    if ((row?.clicks ?? 0) >= count) return;
  }
}

try {
  console.log(`\n${machineLine()}\n`);
  for (const server of [bare, ingest]) await closedLoop(load(NEW_VISITORS, server.port, 2 * REQUESTS));

  // The writer is stopped while the CPU of Redis is measured: the other half of the queue has its own benchmark.
  await untilWritten(2 * REQUESTS);
  await writer.stop();
  const rows: string[][] = [];
  for (const traffic of [
    NEW_VISITORS,
    { ...NEW_VISITORS, name: 'new visitors', connections: MANY_CONNECTIONS },
    { ...NEW_VISITORS, name: 'new visitors of a link that tracks conversions', key: trackedKey },
    { ...NEW_VISITORS, name: `the same ${REGULARS} visitors again`, regulars: REGULARS },
    { ...NEW_VISITORS, name: 'robots', more: ['dub-no-track: 1'] },
  ]) {
    const [ours, theirs, redis]: [number[], number[], number[]] = [[], [], []];
    for (let round = 0; round < ROUNDS; round++) {
      theirs.push((await cpuPerRequest(traffic, bare, REQUESTS)).server);
      const measured = await cpuPerRequest(traffic, ingest, REQUESTS);
      ours.push(measured.server);
      redis.push(measured.redis);
    }
    rows.push([
      `${traffic.name}, ${traffic.connections} connections`,
      median(theirs).toFixed(1),
      median(ours).toFixed(1),
      (median(theirs) / median(ours)).toFixed(2),
      median(redis).toFixed(1),
    ]);
  }
  printTable(
    [
      `CPU per request, µs, median of ${ROUNDS} rounds of ${REQUESTS}`,
      'bare Fastify 302',
      'redirect',
      'bare ÷ redirect',
      'Redis per click, claim included',
    ],
    rows,
  );

  const count = RATE_PER_SECOND * RATE_SECONDS;
  const writing = await startService('writer', stores.environment);
  const latencies: string[][] = [];
  for (const [name, server] of [
    ['bare Fastify 302', bare],
    ['redirect', ingest],
  ] as const) {
    const { latenciesMs } = checked(
      await openLoop({ ...load(NEW_VISITORS, server.port, count), perSecond: RATE_PER_SECOND }),
    );
    latencies.push([name, ...[0.5, 0.95, 0.99].map((share) => percentile(latenciesMs, share).toFixed(2))]);
  }
  console.log('');
  printTable([`${RATE_PER_SECOND} requests/s, open loop, writer running; ms`, 'p50', 'p95', 'p99'], latencies);
  await writing.stop();
} finally {
  await Promise.all([ingest.stop(), bare.stop()]);
  await stores.stop();
}
