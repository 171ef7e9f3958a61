// How late clicks become visible while every insert of a batch takes long, as during a backup: the writer gets its ClickHouse through
// a proxy that holds inserts back.

import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { closedLoop } from './lib/http-load.js';
import { machineLine, printTable } from './lib/report.js';
import { startService } from './lib/service.js';
import { BENCH_DOMAIN, createBenchLink, startStores } from './lib/stores.js';
import { visitorRequest } from './lib/visitors.js';

const CLICKS = 200;
const PAUSE_MS = 50;
const DELAYS_MS = [0, 500, 1500];
const HEADER_BYTES_MAX = 1024 * 1024;

const stores = await startStores();
const { key } = await createBenchLink(stores);
let visitor = 0;
let stored = 0;

/** Passes statements on, inserts with a deduplication token after `delayMs`. */
async function startProxy(delayMs: number) {
  let inserts = 0;
  const server = createServer({ maxHeaderSize: HEADER_BYTES_MAX }, async (incoming, outgoing) => {
    const url = incoming.url ?? '/';
    if (url.includes('insert_deduplication_token')) {
      inserts += 1;
      await delay(delayMs);
    }
    const target = new URL(url, new URL(stores.clickhouse.url).origin);
    const onwards = request(target, { method: incoming.method, headers: incoming.headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(outgoing);
    });
    onwards.once('error', () => outgoing.destroy());
    incoming.pipe(onwards);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const url = Object.assign(new URL(stores.clickhouse.url), { port }).href.replace(/\/$/, '');
  return { url, inserts: () => inserts, stop: () => server.close() };
}

async function clickCount(): Promise<number> {
  const [row] = await stores.client.rows<[string]>({ query: 'SELECT count() FROM click_events' });
  return Number(row?.[0]);
}

/** Sends clicks at a steady rate. @returns how long after the last one all were stored, in seconds, and the number of inserts */
async function measure(delayMs: number) {
  const proxy = await startProxy(delayMs);
  const ingest = await startService('ingest', stores.environment);
  const writer = await startService('writer', { ...stores.environment, CLICKHOUSE_URL: proxy.url });
  for (let count = 0; count < CLICKS; count++) {
    await closedLoop({
      port: ingest.port,
      count: 1,
      connections: 1,
      request: () => visitorRequest(BENCH_DOMAIN, key, visitor++),
    });
    await delay(PAUSE_MS);
  }
  stored += CLICKS;
  const sentMs = performance.now();
  while ((await clickCount()) < stored) await delay(50);
  const seconds = (performance.now() - sentMs) / 1000;
  await Promise.all([ingest.stop(), writer.stop()]);
  proxy.stop();
  return { seconds, inserts: proxy.inserts() };
}

try {
  console.log(`\n${machineLine()}\n`);
  const rows: string[][] = [];
  for (const delayMs of DELAYS_MS) {
    const { seconds, inserts } = await measure(delayMs);
    rows.push([`${delayMs} ms`, seconds.toFixed(1), String(inserts)]);
  }
  printTable(['inserts held back', 'all visible after, s', 'inserts'], rows);
} finally {
  await stores.stop();
}
