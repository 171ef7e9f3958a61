// Redirects at a fixed rate without a webhook, with a webhook for another link, and with a webhook for this link: the cost for the
// redirect (CPU and latency) and for the writer (CPU per click, until the last one is delivered).

import { readFileSync } from 'node:fs';
import { closedLoop, type LoadReport, openLoop } from './lib/http-load.js';
import { processCpuMicroseconds } from './lib/process-cpu.js';
import { machineLine, printTable } from './lib/report.js';
import { startBareReceiver, startService } from './lib/service.js';
import { median, percentile } from './lib/statistics.js';
import { BENCH_DOMAIN, createBenchLink, startStores, withCatalog } from './lib/stores.js';
import { visitorRequest } from './lib/visitors.js';

const ROUNDS = 3;
const RATE_PER_SECOND = Number(process.argv[2] ?? 2000);
const RATE_SECONDS = 5;
const WARM_UP = 5000;
const CONNECTIONS = 64;
const MODES = ['no webhook', 'a webhook of another link', 'a webhook gets every click'] as const;
type Mode = (typeof MODES)[number];

interface Measured {
  readonly latenciesMs: readonly number[];
  readonly ingest: number;
  readonly writer: number;
  readonly deliveries: number;
  readonly redis: number;
  readonly secondsBehind: number;
}

const stores = await startStores();
const { workspaceId, key } = await createBenchLink(stores);
const environment = { ...stores.environment, OUTBOUND_ALLOWED_RANGES: '127.0.0.0/8' };
const receiver = await startBareReceiver();
const ingest = await startService('ingest', environment);
const writer = await startService('writer', environment);
let nextVisitor = 0;
let recorded = 0;

/** Gives the workspace the webhook of that mode. */
function prepare(mode: Mode): Promise<void> {
  return withCatalog(stores, async (catalog) => {
    for (const { id } of await catalog.webhooks.active(workspaceId)) await catalog.webhooks.remove(workspaceId, id);
    if (mode === 'no webhook') return;
    await catalog.webhooks.create(workspaceId, {
      name: 'Bench',
      url: `http://127.0.0.1:${receiver.port}/`,
      triggers: ['link.clicked'],
      linkScope: mode === 'a webhook gets every click' ? 'workspace' : 'links',
    });
  });
}

async function untilWritten(): Promise<void> {
  for (;;) {
    const query = 'SELECT toUInt32(count()) AS clicks FROM click_events';
    const result = await stores.client.query({ query, format: 'JSONEachRow' });
    const [row] = await result.json<{ clicks: number }>();
    if ((row?.clicks ?? 0) >= recorded) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const delivered = async () => Number(await (await fetch(`http://127.0.0.1:${receiver.port}/`)).text());

async function untilDelivered(count: number): Promise<void> {
  while ((await delivered()) < count) await new Promise((resolve) => setTimeout(resolve, 50));
}

function load(count: number) {
  const first = nextVisitor;
  nextVisitor += count;
  recorded += count;
  const request = (index: number) => visitorRequest(BENCH_DOMAIN, key, first + index);
  return { port: ingest.port, count, connections: CONNECTIONS, request };
}

function checked(report: LoadReport): LoadReport {
  const others = Object.keys(report.statuses).filter((status) => status !== '302');
  if (others.length > 0) throw new Error(`answers other than 302: ${JSON.stringify(report.statuses)}`);
  return report;
}

/** CPU time of the writer's delivery process, which is started at the first delivery. */
function cpuOfDeliveries(): number {
  const [pid] = readFileSync(`/proc/${writer.pid}/task/${writer.pid}/children`, 'utf8').split(' ');
  return pid === undefined || pid === '' ? 0 : processCpuMicroseconds(Number(pid));
}

function cpuOfAll(): number[] {
  const [ofIngest = 0, ofWriter = 0, ofRedis = 0] = [ingest.pid, writer.pid, stores.redis.pid].map(
    processCpuMicroseconds,
  );
  return [ofIngest, ofWriter, cpuOfDeliveries(), ofRedis];
}

async function measure(mode: Mode): Promise<Measured> {
  await prepare(mode);
  const count = RATE_PER_SECOND * RATE_SECONDS;
  const toldBefore = await delivered();
  const before = cpuOfAll();
  const { latenciesMs } = checked(await openLoop({ ...load(count), perSecond: RATE_PER_SECOND }));
  const ended = performance.now();
  await untilWritten();
  if (mode === 'a webhook gets every click') await untilDelivered(toldBefore + count);
  const secondsBehind = (performance.now() - ended) / 1000;
  const after = cpuOfAll();
  const perClick = (index: number) => ((after[index] ?? 0) - (before[index] ?? 0)) / count;
  return {
    latenciesMs,
    ingest: perClick(0),
    writer: perClick(1),
    deliveries: perClick(2),
    redis: perClick(3),
    secondsBehind,
  };
}

try {
  console.log(`\n${machineLine()}\n`);
  checked(await closedLoop(load(WARM_UP)));
  await untilWritten();
  for (const mode of MODES) await measure(mode);
  const results = new Map<Mode, Measured[]>(MODES.map((mode) => [mode, []]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const mode of MODES) results.get(mode)?.push(await measure(mode));
  }
  const middle = (runs: readonly Measured[], value: (run: Measured) => number) => median(runs.map(value)).toFixed(2);
  printTable(
    [
      `${RATE_PER_SECOND} new visitors/s, open loop; medians of ${ROUNDS}`,
      ...['p50 ms', 'p95 ms', 'p99 ms', 'ingest µs a click', 'writer', 'deliveries', 'Redis', 'all done after, s'],
    ],
    [...results].map(([mode, runs]) => [
      mode,
      ...[0.5, 0.95, 0.99].map((share) => middle(runs, ({ latenciesMs }) => percentile(latenciesMs, share))),
      middle(runs, (run) => run.ingest),
      middle(runs, (run) => run.writer),
      middle(runs, (run) => run.deliveries),
      middle(runs, (run) => run.redis),
      middle(runs, (run) => run.secondsBehind),
    ]),
  );
} finally {
  await Promise.all([ingest.stop(), writer.stop(), receiver.stop()]);
  await stores.stop();
}
