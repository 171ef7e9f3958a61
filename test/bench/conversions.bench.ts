// What leads of new customers and their sales cost: latency of one caller, and CPU of the process that answers beside a bare JSON POST.
// Every lead names the same click, and every sale is a customer's first, with an invoice.

import { setTimeout as delay } from 'node:timers/promises';
import { FILTERS_BLOCKED_MS } from '@waymark/event-queue';
import { closedLoop } from './lib/http-load.js';
import { jsonPost } from './lib/json-post.js';
import { processCpuMicroseconds } from './lib/process-cpu.js';
import { machineLine, printTable } from './lib/report.js';
import { startBareFastify, startService } from './lib/service.js';
import { median, percentile } from './lib/statistics.js';
import { BENCH_DOMAIN, createBenchLink, startStores } from './lib/stores.js';
import { recordClick } from './lib/visitors.js';

const ROUNDS = 5;
const FILTERS_LOADED_MS = 5_000;
const REQUESTS = 3_000;
const CONNECTIONS = 64;
const ALONE_REQUESTS = 200;

const stores = await startStores();
const { key, token } = await createBenchLink(stores);
const ingest = await startService('ingest', stores.environment);
const writer = await startService('writer', stores.environment);
const bare = await startBareFastify();

const clickId = await recordClick(ingest.port, BENCH_DOMAIN, key);
const lead = (index: number) => ({
  ...{ clickId, eventName: 'Sign up', customerExternalId: `user-${index}`, customerName: 'Ada Lovelace' },
  ...{ customerEmail: `user-${index}@example.com`, metadata: { plan: 'pro', seats: 5 } },
});
const sale = (index: number) => ({
  ...{ customerExternalId: `user-${index}`, amount: 2900, invoiceId: `invoice-${index}`, metadata: { plan: 'pro' } },
});
const cases = [
  { name: 'bare POST', pid: bare.pid, port: bare.port, text: (index: number) => jsonPost(token, '/json', lead(index)) },
  {
    name: 'lead',
    pid: ingest.pid,
    port: ingest.apiPort,
    text: (index: number) => jsonPost(token, '/track/lead', lead(index)),
  },
  {
    name: 'sale',
    pid: ingest.pid,
    port: ingest.apiPort,
    text: (index: number) => jsonPost(token, '/track/sale', sale(index)),
  },
];

/** Sends one request for each customer from `first` on. */
async function load(
  { name, pid, port, text }: (typeof cases)[number],
  first: number,
  count: number,
  connections: number,
) {
  const before = processCpuMicroseconds(pid);
  const report = await closedLoop({ port, count, connections, request: (index) => text(first + index) });
  if (report.statuses['200'] !== count) throw new Error(`${name}: ${JSON.stringify(report.statuses)}`);
  return { cpu: (processCpuMicroseconds(pid) - before) / count, latencies: report.latenciesMs };
}

try {
  console.log(`\n${machineLine()}\n`);
  let next = 0;
  // In a new Redis, filters of stored keys begin after a while: with the first event after it, whose load runs beside the events that follow.
  for (const waitMs of [FILTERS_BLOCKED_MS, FILTERS_LOADED_MS]) {
    for (const each of cases) await load(each, next, REQUESTS, CONNECTIONS);
    next += REQUESTS;
    await delay(waitMs);
  }
  const cpu = new Map<string, number[]>(cases.map(({ name }) => [name, []]));
  const alone = new Map<string, number[]>(cases.map(({ name }) => [name, []]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const each of cases) cpu.get(each.name)?.push((await load(each, next, REQUESTS, CONNECTIONS)).cpu);
    next += REQUESTS;
    for (const each of cases) alone.get(each.name)?.push(...(await load(each, next, ALONE_REQUESTS, 1)).latencies);
    next += ALONE_REQUESTS;
  }
  const middle = (name: string) => median(cpu.get(name) ?? []);
  printTable(
    ['', 'CPU, µs, median', 'bare POST ÷ it', 'wanted', 'one caller: p50; p99, ms', 'wanted'],
    cases.map(({ name }) => [
      name,
      middle(name).toFixed(0),
      (middle('bare POST') / middle(name)).toFixed(2),
      { lead: '0.25', sale: '0.15' }[name] ?? '',
      `${percentile(alone.get(name) ?? [], 0.5).toFixed(1)}; ${percentile(alone.get(name) ?? [], 0.99).toFixed(1)}`,
      { lead: '6', sale: '8' }[name] ?? '',
    ]),
  );
} finally {
  await Promise.all([ingest.stop(), writer.stop(), bare.stop()]);
  await stores.stop();
}
