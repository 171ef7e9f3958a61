// Redirect with the click recorded, claimed and awaited, every request a new visitor, beside a bare Fastify 302: CPU per
// request of the two processes, CPU of Redis per click, and the latency that awaiting adds at a fixed rate.

import { closedLoop, type LoadReport, openLoop } from './lib/http-load.js';
import { processCpuMicroseconds } from './lib/process-cpu.js';
import { machineLine, printTable } from './lib/report.js';
import { startBareFastify, startService } from './lib/service.js';
import { median, percentile } from './lib/statistics.js';
import { BENCH_DOMAIN, createBenchLink, startStores } from './lib/stores.js';
import { visitorRequest } from './lib/visitors.js';

const ROUNDS = 7;
const REQUESTS = 20_000;
const CONNECTIONS = 64;
const RATE_PER_SECOND = 2000;
const RATE_SECONDS = 10;

const stores = await startStores();
const { key } = await createBenchLink(stores);
const ingest = await startService('ingest', stores.environment);
const writer = await startService('writer', stores.environment);
const bare = await startBareFastify();
let nextVisitor = 0;

function checked(report: LoadReport): LoadReport {
  const others = Object.keys(report.statuses).filter((status) => status !== '302');
  if (others.length > 0) throw new Error(`answers other than 302: ${JSON.stringify(report.statuses)}`);
  return report;
}

function load(port: number, count: number) {
  const first = nextVisitor;
  nextVisitor += count;
  return {
    port,
    count,
    connections: CONNECTIONS,
    request: (index: number) => visitorRequest(BENCH_DOMAIN, key, first + index),
  };
}

async function cpuPerRequest(
  server: { pid: number; port: number },
  count: number,
): Promise<{ server: number; redis: number }> {
  const before = { server: processCpuMicroseconds(server.pid), redis: processCpuMicroseconds(stores.redis.pid) };
  checked(await closedLoop(load(server.port, count)));
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
  for (const server of [bare, ingest]) await closedLoop(load(server.port, REQUESTS));

  // The writer is stopped while CPU of Redis is measured: the queue's other half has its own benchmark.
  await untilWritten(REQUESTS);
  await writer.stop();
  const ours: number[] = [];
  const theirs: number[] = [];
  const redis: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    theirs.push((await cpuPerRequest(bare, REQUESTS)).server);
    const measured = await cpuPerRequest(ingest, REQUESTS);
    ours.push(measured.server);
    redis.push(measured.redis);
  }
  printTable(
    [
      'CPU per request, µs, median',
      'bare Fastify 302',
      'redirect',
      'bare ÷ redirect',
      'Redis per click, claim included',
    ],
    [
      [
        'new visitors',
        median(theirs).toFixed(1),
        median(ours).toFixed(1),
        (median(theirs) / median(ours)).toFixed(2),
        median(redis).toFixed(1),
      ],
    ],
  );

  const count = RATE_PER_SECOND * RATE_SECONDS;
  const writing = await startService('writer', stores.environment);
  await untilWritten(REQUESTS * (ROUNDS + 1));
  const rows: (string | number)[][] = [];
  for (const [name, server] of [
    ['bare Fastify 302', bare],
    ['redirect', ingest],
  ] as const) {
    const { latenciesMs } = checked(await openLoop({ ...load(server.port, count), perSecond: RATE_PER_SECOND }));
    rows.push([name, ...[0.5, 0.95, 0.99].map((share) => percentile(latenciesMs, share).toFixed(2))]);
  }
  console.log('');
  printTable([`${RATE_PER_SECOND} requests/s, open loop, writer running; ms`, 'p50', 'p95', 'p99'], rows);
  await writing.stop();
} finally {
  await Promise.all([ingest.stop(), bare.stop()]);
  await stores.stop();
}
