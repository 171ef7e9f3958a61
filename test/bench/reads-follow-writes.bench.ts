// The cost of waiting until no process serves copies from before a write: latencies of `PATCH /links`, `POST /links` and
// `POST /track/lead` through a process that serves everything: alone; beside another that holds no lease, so that writes do not wait for
// it; and beside another that is read continuously, for whose acknowledgement each write waits. The last two are measured alternately.

import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { closedLoop } from './lib/http-load.js';
import { jsonRequest } from './lib/json-post.js';
import { machineLine, printTable } from './lib/report.js';
import { type BenchService, startService } from './lib/service.js';
import { percentile } from './lib/statistics.js';
import { BENCH_DOMAIN, createBenchLink, startStores } from './lib/stores.js';
import { recordClick, visitorRequest } from './lib/visitors.js';

const ROUNDS = 5;
const REQUESTS = 100;
const READ_EVERY_MS = 50;
/** The key of the lease holders in Redis (packages/cache/src/cache-lease.ts). */
const HOLDERS = 'waymark:catalog:holders';

const stores = await startStores();
const { key, plainKey, token } = await createBenchLink(stores);
const first = await startService('standalone', stores.environment);
const redis = new Redis(stores.redis.url);
let made = 0;

async function createLink(): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${first.apiPort}/links`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ domain: BENCH_DOMAIN, url: 'https://example.com/first' }),
  });
  return ((await answer.json()) as { readonly id: string }).id;
}

const [linkId, clickId] = [await createLink(), await recordClick(first.linkPort, BENCH_DOMAIN, key)];
const link = () => ({ domain: BENCH_DOMAIN, url: `https://example.com/${made++}` });
const lead = () => ({ clickId, eventName: 'Sign up', customerExternalId: `customer-${made++}` });
const WRITES: Readonly<Record<string, () => string>> = {
  'PATCH /links': () => jsonRequest('PATCH', token, `/links/${linkId}`, link()),
  'POST /links': () => jsonRequest('POST', token, '/links', link()),
  'POST /track/lead': () => jsonRequest('POST', token, '/track/lead', lead()),
};
type Latencies = Record<string, number[]>;

/** Sends one request after another, the same number of each kind. */
async function measure(latencies: Latencies): Promise<void> {
  for (const [name, write] of Object.entries(WRITES)) {
    const report = await closedLoop({ port: first.apiPort, connections: 1, count: REQUESTS, request: write });
    if (Object.keys(report.statuses).join() !== '200') throw new Error(`${name}: ${JSON.stringify(report.statuses)}`);
    latencies[name] = [...(latencies[name] ?? []), ...report.latenciesMs];
  }
}

/** The number of processes with a lease. */
async function holders(): Promise<number> {
  const [seconds = 0, microseconds = 0] = (await redis.time()).map(Number);
  return redis.zcount(HOLDERS, seconds * 1000 + microseconds / 1000, '+inf');
}

async function untilHolders(count: number): Promise<void> {
  while ((await holders()) !== count) await delay(20);
}

/** Sends visits that make a process renew its lease, until they are stopped. */
function keepReading({ linkPort }: BenchService): () => Promise<void> {
  let isStopped = false;
  const visits = (async () => {
    for (; !isStopped; await delay(READ_EVERY_MS)) {
      const visit = () => visitorRequest(BENCH_DOMAIN, plainKey, 0, ['dub-no-track: 1']);
      await closedLoop({ port: linkPort, connections: 1, count: 1, request: visit });
    }
  })();
  return () => {
    isStopped = true;
    return visits;
  };
}

const [alone, unread, read]: [Latencies, Latencies, Latencies] = [{}, {}, {}];
try {
  console.log(`\n${machineLine()}\n`);
  await measure({});
  for (let round = 0; round < ROUNDS; round++) await measure(alone);
  const second = await startService('standalone', stores.environment);
  for (let round = 0; round < ROUNDS; round++) {
    const stops = [keepReading(first), keepReading(second)];
    await untilHolders(2);
    await measure(read);
    await stops[1]?.();
    await untilHolders(1);
    await measure(unread);
    await stops[0]?.();
  }
  await second.stop();
  const cells = (latencies: number[] = []) =>
    [0.5, 0.99].map((share) => percentile(latencies, share).toFixed(1)).join('; ');
  printTable(
    [
      `p50; p99 of ${ROUNDS * REQUESTS}, ms`,
      'one process',
      'beside one that uses no copies',
      'beside one that is read',
      'difference of the medians of the last two',
    ],
    Object.keys(WRITES).map((name) => [
      name,
      ...[alone, unread, read].map((latencies) => cells(latencies[name])),
      (percentile(read[name] ?? [], 0.5) - percentile(unread[name] ?? [], 0.5)).toFixed(1),
    ]),
  );
} finally {
  redis.disconnect();
  await first.stop();
  await stores.stop();
}
