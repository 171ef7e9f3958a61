// `GET /events/stream` at 500 clicks a second: how long after its storage a click reaches fifty clients, and what streams cost the writer,
// the process of the API, ClickHouse and Redis. Nobody subscribed, fifty equal subscriptions, and ten different ones of five clients each,
// in turn.

import { rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { createEventId, parseResourceId } from '@waymark/contract';
import { createEventProducer } from '@waymark/event-queue';
import { aClick, temporaryDirectory } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { processCpuMicroseconds } from './lib/process-cpu.js';
import { machineLine, printTable } from './lib/report.js';
import { startService } from './lib/service.js';
import { median, percentile } from './lib/statistics.js';
import { BENCH_DOMAIN, createBenchLink, startStores, withCatalog } from './lib/stores.js';

const ROUNDS = 4;
const ROUND_SECONDS = 8;
const PER_SECOND = 500;
const TICK_MS = 10;
const CLIENTS = 50;
const CLIENTS_PER_KEY = 20;
const LINKS = 10;
const SILENT = { info() {}, warn() {}, error() {}, debug() {} };
const MODES = ['nobody', '50 equal', '10 different, 5 of each'] as const;
type Mode = (typeof MODES)[number];

interface Measured {
  readonly delaysMs: readonly number[];
  /** CPU in microseconds an event: writer, API, ClickHouse, Redis. */
  readonly cpu: readonly number[];
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const stores = await startStores();
const { workspaceId } = await createBenchLink(stores);
const workspace = parseResourceId('workspace', workspaceId) ?? '';
const { links, tokens } = await withCatalog(stores, async (catalog) => {
  await catalog.workspaces.update(workspaceId, { analyticsPerSecond: 1_000_000 });
  const key = { workspaceId, name: 'Bench', kind: 'secret', role: 'owner', scopes: [] } as const;
  const made = await Promise.all(Array.from({ length: CLIENTS / CLIENTS_PER_KEY + 1 }, () => catalog.keys.create(key)));
  const create = (index: number) =>
    catalog.links.create(workspaceId, { domain: BENCH_DOMAIN, key: `tail-${index}`, url: 'https://example.com/' });
  const links = await Promise.all(Array.from({ length: LINKS }, (_none, index) => create(index)));
  return { links: links.map(({ id }) => id), tokens: made.map(({ token }) => token) };
});
const writer = await startService('writer', stores.environment);
const query = await startService('query', stores.environment);
const spoolDirectory = temporaryDirectory('waymark-spool-');
const producer = createEventProducer({ redisUrl: stores.redis.url, spoolDirectory, logger: SILENT });
const redis = new Redis(stores.redis.url);
const follower = new Redis(stores.redis.url);
const tail = `{waymark}:tail:${workspace}`;
/** When the insert of a click was acknowledged, by its id. */
const storedAt = new Map<string, number>();

async function followTail(signal: AbortSignal): Promise<void> {
  let last = '$';
  while (!signal.aborted) {
    const found = await follower.xread('BLOCK', 200, 'STREAMS', tail, last);
    const at = performance.now();
    for (const [, entries] of found ?? []) {
      for (const [entryId, fields] of entries) {
        last = entryId;
        for (const id of fields[3]?.split(' ') ?? []) storedAt.set(id, at);
      }
    }
  }
}

const CLICK = Buffer.from('"click":{"id":"');
const ID_CHARS = 16;

/** A client that only looks for the ids of clicks. */
function openClient(filter: string, token: string, onClick: (id: string, at: number) => void): Promise<Socket> {
  const socket = connect(query.port, '127.0.0.1');
  socket.write(`GET /events/stream?${filter} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  let rest = Buffer.alloc(0);
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.once('data', (head) => {
      if (!head.toString().startsWith('HTTP/1.1 200')) reject(new Error(head.toString()));
      resolve(socket);
      socket.on('data', (chunk) => {
        const now = performance.now();
        const bytes = Buffer.concat([rest, chunk]);
        let at = bytes.indexOf(CLICK);
        let end = 0;
        for (; at >= 0 && at + CLICK.length + ID_CHARS <= bytes.length; at = bytes.indexOf(CLICK, end)) {
          end = at + CLICK.length + ID_CHARS;
          onClick(bytes.toString('latin1', at + CLICK.length, end), now);
        }
        rest = bytes.subarray(Math.max(end, bytes.length - CLICK.length - ID_CHARS));
      });
    });
  });
}

const cpuOfAll = () => [writer.pid, query.pid, stores.clickhouse.pid, stores.redis.pid].map(processCpuMicroseconds);
let added = 0;

async function untilStored(): Promise<void> {
  for (;;) {
    const result = await stores.client.query({
      query: 'SELECT toUInt32(count()) AS clicks FROM click_events',
      format: 'JSONEachRow',
    });
    if (((await result.json<{ clicks: number }>())[0]?.clicks ?? 0) >= added) return;
    await pause(50);
  }
}

async function load(seconds: number): Promise<number> {
  const count = seconds * PER_SECOND;
  const startedMs = performance.now();
  for (let sent = 0; sent < count; ) {
    const due = Math.min(count, Math.floor(((performance.now() - startedMs) / 1000) * PER_SECOND));
    const rows = Array.from({ length: due - sent }, (_none, index) => {
      const linkId = parseResourceId('link', links[(sent + index) % LINKS] ?? '') ?? '';
      const timestampMs = Date.now();
      const row = aClick({ workspaceId: workspace, linkId, timestampMs, clickId: createEventId(timestampMs) });
      return { kind: 'click', row } as const;
    });
    if (rows.length > 0) await producer.commit({ rows, finals: [] });
    sent = due;
    await pause(TICK_MS);
  }
  added += count;
  return count;
}

async function measure(mode: Mode, seconds = ROUND_SECONDS): Promise<Measured> {
  const delaysMs: number[] = [];
  let received = 0;
  const arrivals: [string, number][] = [];
  const onClick = (id: string, at: number) => {
    received += 1;
    arrivals.push([id, at]);
  };
  await redis.del('{waymark}:tails', tail);
  storedAt.clear();
  const stop = new AbortController();
  const filterOf = (index: number) => (mode === '50 equal' ? '' : `linkId=${links[index % LINKS]}`);
  const clients: Socket[] = [];
  for (let index = 0; mode !== 'nobody' && index < CLIENTS; index++) {
    clients.push(await openClient(filterOf(index), tokens[Math.floor(index / CLIENTS_PER_KEY)] ?? '', onClick));
  }
  const following = followTail(stop.signal);
  const before = cpuOfAll();
  const count = await load(seconds);
  await untilStored();
  const expected = mode === 'nobody' ? 0 : mode === '50 equal' ? count * CLIENTS : (count * CLIENTS) / LINKS;
  for (let waited = 0; received < expected; waited++) {
    if (waited > 600) throw new Error(`${received} of ${expected} frames arrived`);
    await pause(50);
  }
  const after = cpuOfAll();
  for (const client of clients) client.destroy();
  stop.abort();
  await following;
  for (const [id, at] of arrivals) delaysMs.push(at - (storedAt.get(id) ?? Number.NaN));
  return { delaysMs, cpu: after.map((cpu, index) => (cpu - (before[index] ?? 0)) / count) };
}

try {
  console.log(`\n${machineLine()}\n`);
  await pause(1000);
  for (const mode of MODES) await measure(mode, 2);
  const results = new Map<Mode, Measured[]>(MODES.map((mode) => [mode, []]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const mode of MODES) results.get(mode)?.push(await measure(mode));
  }
  const delayOf = (runs: readonly Measured[], share: number) => {
    const delays = runs.flatMap(({ delaysMs }) => delaysMs);
    return delays.length === 0 ? '' : percentile(delays, share).toFixed(0);
  };
  printTable(
    [
      `${PER_SECOND} clicks/s, ${ROUNDS} × ${ROUND_SECONDS} s`,
      ...['stored to delivered, p50 ms', 'p99 ms'],
      ...['writer, µs CPU a click', 'API', 'ClickHouse', 'Redis'],
    ],
    [...results].map(([mode, runs]) => [
      mode,
      ...[0.5, 0.99].map((share) => delayOf(runs, share)),
      ...[0, 1, 2, 3].map((index) => median(runs.map(({ cpu }) => cpu[index] ?? 0)).toFixed(0)),
    ]),
  );
} finally {
  await producer.close();
  redis.disconnect();
  follower.disconnect();
  await Promise.all([writer.stop(), query.stop()]);
  await stores.stop();
  rmSync(spoolDirectory, { recursive: true, force: true });
}
