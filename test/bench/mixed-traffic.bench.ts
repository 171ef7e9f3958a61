// Latencies at 2,000 requests a second when ingest, writer, Redis and the embedded ClickHouse share the same cores. Open loop, so that
// a stall affects the latency of every request that it delays.

import { type LoadReport, openLoop } from './lib/http-load.js';
import { jsonPost } from './lib/json-post.js';
import { machineLine, printTable } from './lib/report.js';
import { startService } from './lib/service.js';
import { median, percentile } from './lib/statistics.js';
import { BENCH_DOMAIN, createBenchLink, startStores } from './lib/stores.js';
import { recordClick, visitorRequest } from './lib/visitors.js';

const ROUNDS = 3;
const SECONDS = 20;
const CONNECTIONS_MAX = 256;

const stores = await startStores();
const { key, token } = await createBenchLink(stores);
const ingest = await startService('ingest', stores.environment);
const writer = await startService('writer', stores.environment);
let next = 1000;

const clickId = await recordClick(ingest.port, BENCH_DOMAIN, key);

interface Traffic {
  readonly name: string;
  readonly perSecond: number;
  readonly port: number;
  readonly statuses: readonly string[];
  readonly request: (number: number) => string;
}

const traffic: readonly Traffic[] = [
  {
    name: 'redirect, new visitor',
    perSecond: 1500,
    port: ingest.port,
    statuses: ['302'],
    request: (number) => visitorRequest(BENCH_DOMAIN, key, number),
  },
  {
    name: 'redirect, again',
    perSecond: 250,
    port: ingest.port,
    statuses: ['302'],
    request: (number) => visitorRequest(BENCH_DOMAIN, key, number % 500),
  },
  {
    name: 'no such link',
    perSecond: 150,
    port: ingest.port,
    statuses: ['404'],
    request: (number) => visitorRequest(BENCH_DOMAIN, `missing-${number % 100}`, number),
  },
  {
    name: 'lead',
    perSecond: 70,
    port: ingest.apiPort,
    statuses: ['200'],
    request: (number) =>
      jsonPost(token, '/track/lead', { clickId, eventName: 'Sign up', customerExternalId: `customer-${number}` }),
  },
  {
    name: 'sale',
    perSecond: 30,
    port: ingest.apiPort,
    statuses: ['200'],
    request: (number) =>
      jsonPost(token, '/track/sale', {
        clickId,
        customerExternalId: `buyer-${number}`,
        amount: 4900,
        invoiceId: `invoice-${number}`,
      }),
  },
];

async function load({ name, perSecond, port, statuses, request: text }: Traffic, seconds: number): Promise<LoadReport> {
  const first = next;
  const count = perSecond * seconds;
  next += count;
  const report = await openLoop({
    port,
    count,
    perSecond,
    connections: Math.min(CONNECTIONS_MAX, 2 * perSecond),
    request: (index) => text(first + index),
  });
  const others = Object.keys(report.statuses).filter((status) => !statuses.includes(status));
  if (others.length > 0) throw new Error(`${name}: ${JSON.stringify(report.statuses)}`);
  return report;
}

try {
  console.log(`\n${machineLine()}\n`);
  await Promise.all(traffic.map((each) => load(each, 5)));
  const rounds: LoadReport[][] = [];
  for (let round = 0; round < ROUNDS; round++) {
    rounds.push(await Promise.all(traffic.map((each) => load(each, SECONDS))));
  }
  const middle = (reports: readonly (readonly number[])[], share: number) =>
    median(reports.map((latencies) => percentile(latencies, share))).toFixed(1);
  const row = (name: string, perSecond: number, reports: readonly (readonly number[])[]) => [
    name,
    perSecond,
    ...[0.5, 0.95, 0.99].map((share) => middle(reports, share)),
  ];
  const all = rounds.map((reports) => reports.flatMap(({ latenciesMs }) => latenciesMs));
  const perSecond = traffic.reduce((sum, each) => sum + each.perSecond, 0);
  printTable(
    [`open loop, median of ${ROUNDS} rounds of ${SECONDS} s`, 'requests/s', 'p50 ms', 'p95 ms', 'p99 ms'],
    [
      ...traffic.map((each, index) =>
        row(
          each.name,
          each.perSecond,
          rounds.map((reports) => reports[index]?.latenciesMs ?? []),
        ),
      ),
      row('all', perSecond, all),
    ],
  );
} finally {
  await Promise.all([ingest.stop(), writer.stop()]);
  await stores.stop();
}
