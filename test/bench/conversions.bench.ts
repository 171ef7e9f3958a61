// What a lead and a sale cost: CPU per request of ingest beside a bare JSON POST, many connections, and the latency of a request
// while nothing else is going on, few connections. Every lead and every sale is of its own, so that nothing is a repeat.
// The claim histories of the workspace are complete first, which takes a minute; `--no-histories` measures without them.
// `npm run bench -- conversions [--rounds 5] [--requests 4000] [--single 300] [--no-histories]`.

import { request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { historyKey } from '@waymark/event-queue';
import { Redis } from 'ioredis';
import { closedLoop } from './lib/http-load.js';
import { jsonPost } from './lib/json-post.js';
import { processCpuMicroseconds } from './lib/process-cpu.js';
import { machineLine, printTable } from './lib/report.js';
import { startBareFastify, startService } from './lib/service.js';
import { median, percentile } from './lib/statistics.js';
import { BENCH_DOMAIN, createBenchLink, startStores } from './lib/stores.js';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    requests: { type: 'string', default: '4000' },
    single: { type: 'string', default: '300' },
    'no-histories': { type: 'boolean', default: false },
  },
});
const ROUNDS = Number(values.rounds);
const REQUESTS = Number(values.requests);
const SINGLE_REQUESTS = Number(values.single);
const CONNECTIONS = 64;

const stores = await startStores();
const { workspaceId, key, token } = await createBenchLink(stores);
const ingest = await startService('ingest', stores.environment);
const writer = await startService('writer', stores.environment);
const bare = await startBareFastify();

/** The id of a click that conversions may name. */
function aClick(): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = {
      host: BENCH_DOMAIN,
      'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
    };
    const asked = request({ port: ingest.port, path: `/${key}`, headers }, (answer) => {
      answer.resume();
      resolve(new URL(answer.headers.location ?? '').searchParams.get('dub_id') ?? '');
    });
    asked.on('error', reject);
    asked.end();
  });
}

const clickId = await aClick();
const lead = (number: number, eventName = 'Sign up') => ({
  clickId,
  eventName,
  customerExternalId: `user-${number}`,
  customerName: 'Ada Lovelace',
  customerEmail: `user-${number}@example.com`,
  metadata: { plan: 'pro', seats: 5 },
});
const sale = (customerExternalId: string, number: number) => ({
  customerExternalId,
  amount: 4900,
  invoiceId: `invoice-${customerExternalId}-${number}`,
  metadata: { plan: 'pro', seats: 5 },
});

/** Sends a lead and a sale now and then, which make ingest fill the histories, until they are complete. */
async function untilHistoriesAreComplete(): Promise<void> {
  const redis = new Redis(stores.redis.url);
  const isComplete = async (subject: 'customers' | 'sales') =>
    (await redis.getrange(historyKey(subject, workspaceId), 2, 2)) === 'C';
  for (let second = 0; !((await isComplete('customers')) && (await isComplete('sales'))); second++) {
    const texts = [
      jsonPost(token, '/track/lead', lead(-second)),
      jsonPost(token, '/track/sale', sale(`user-${-second}`, second)),
    ];
    const request = (index: number) => texts[index] ?? '';
    if (second % 20 === 0) await closedLoop({ port: ingest.apiPort, count: 2, connections: 1, request });
    await pause(1000);
  }
  redis.disconnect();
}

interface Case {
  readonly name: string;
  readonly pid: number;
  readonly port: number;
  /** The text of a request; `number` is of the round, so that cases of a round may name the same customers. */
  readonly request: (number: number) => string;
}

const track = { pid: ingest.pid, port: ingest.apiPort };
const cases: readonly Case[] = [
  { name: 'bare POST', ...bare, request: (number) => jsonPost(token, '/json', lead(number)) },
  { name: 'lead, new customer', ...track, request: (number) => jsonPost(token, '/track/lead', lead(number)) },
  { name: 'lead, known customer', ...track, request: (number) => jsonPost(token, '/track/lead', lead(number, 'Demo')) },
  {
    name: 'sale, known customer',
    ...track,
    request: (number) => jsonPost(token, '/track/sale', sale(`user-${number}`, number)),
  },
  {
    name: 'sale, new customer',
    ...track,
    request: (number) => jsonPost(token, '/track/sale', { clickId, ...sale(`buyer-${number}`, number) }),
  },
];

interface Measured {
  readonly cpuUs: number;
  readonly latenciesMs: readonly number[];
}

async function measure(one: Case, first: number, count: number, connections: number): Promise<Measured> {
  const before = processCpuMicroseconds(one.pid);
  const { port } = one;
  const report = await closedLoop({ port, count, connections, request: (index) => one.request(first + index) });
  if (report.statuses['200'] !== count) throw new Error(`${one.name}: ${JSON.stringify(report.statuses)}`);
  return { cpuUs: (processCpuMicroseconds(one.pid) - before) / count, latenciesMs: report.latenciesMs };
}

try {
  console.log(`\n${machineLine()}\n`);
  const loaded = new Map<string, Measured[]>(cases.map(({ name }) => [name, []]));
  const alone = new Map<string, Measured[]>(cases.map(({ name }) => [name, []]));
  let next = 1;
  if (!values['no-histories']) await untilHistoriesAreComplete();
  for (let round = -1; round < ROUNDS; round++) {
    for (const one of cases) {
      const measured = await measure(one, next, REQUESTS, CONNECTIONS);
      if (round >= 0) loaded.get(one.name)?.push(measured);
    }
    next += REQUESTS;
    for (const one of cases) {
      const measured = await measure(one, next, SINGLE_REQUESTS, 1);
      if (round >= 0) alone.get(one.name)?.push(measured);
    }
    next += SINGLE_REQUESTS;
  }
  const middle = (all: ReadonlyMap<string, readonly Measured[]>, name: string, of: (one: Measured) => number) =>
    median((all.get(name) ?? []).map(of));
  const cpuOf = (name: string) => middle(loaded, name, ({ cpuUs }) => cpuUs);
  printTable(
    [
      `medians of ${ROUNDS} rounds`,
      'CPU, µs',
      'bare POST ÷ it',
      'wanted',
      `p50 of ${CONNECTIONS} connections, ms`,
      'p50 of one, ms',
      'p95 of one, ms',
      'wanted p50',
    ],
    cases.map(({ name }) => [
      name,
      cpuOf(name).toFixed(0),
      (cpuOf('bare POST') / cpuOf(name)).toFixed(2),
      name.startsWith('lead') ? '0.25' : name.startsWith('sale') ? '0.15' : '',
      middle(loaded, name, ({ latenciesMs }) => median(latenciesMs)).toFixed(1),
      middle(alone, name, ({ latenciesMs }) => median(latenciesMs)).toFixed(2),
      middle(alone, name, ({ latenciesMs }) => percentile(latenciesMs, 0.95)).toFixed(2),
      name.startsWith('lead') ? '6' : name.startsWith('sale') ? '8' : '',
    ]),
  );
} finally {
  await Promise.all([ingest.stop(), bare.stop(), writer.stop()]);
  await stores.stop();
}
