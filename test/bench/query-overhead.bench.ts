// GET /events, 100 items: the ratio of a request's time in our process to its time waiting for ClickHouse. The service runs in this
// process, to separate the two; requests are sent one after another on connections of their own.

import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { createCatalog } from '@waymark/catalog';
import { type ClickHouseClient, insertRows } from '@waymark/clickhouse';
import { createEventId, parseResourceId } from '@waymark/contract';
import { clickRow, EVENT_TABLES, type EventRow, leadRow, saleRow } from '@waymark/event-format';
import { createExportSlots } from '@waymark/export';
import { createLogger } from '@waymark/http-kit';
import { buildApp } from '@waymark/query';
import { createRateLimiter } from '@waymark/rate-limit';
import { temporaryDirectory } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { closedLoop } from './lib/http-load.js';
import { machineLine, printTable } from './lib/report.js';
import { median } from './lib/statistics.js';
import { INSTANCE_KEY, startStores } from './lib/stores.js';

const CLICKS = 300_000;
const CONVERSIONS_EVERY = 20;
const LINKS = 200;
const CUSTOMERS = 500;
const ROWS_PER_INSERT = 20_000;
const WARM_UP = 100;
const REQUESTS = 400;
const DAY_MS = 24 * 3_600_000;
const KINDS = ['clicks', 'leads', 'sales'] as const;

/** Start of each query, and the time at which its result was available, since the list was last emptied. */
const waits: (readonly [number, number])[] = [];

/** A client that records how long each query takes. */
function timed(client: ClickHouseClient): ClickHouseClient {
  const rows: ClickHouseClient['rows'] = async (read) => {
    const start = performance.now();
    try {
      return await client.rows(read);
    } finally {
      waits.push([start, performance.now()]);
    }
  };
  return new Proxy(client, { get: (target, name) => (name === 'rows' ? rows : Reflect.get(target, name)) });
}

/** Time in which at least one query was in progress. */
function waitedMs(intervals: readonly (readonly [number, number])[]): number {
  let [total, until] = [0, 0];
  for (const [start, end] of [...intervals].sort((a, b) => a[0] - b[0])) {
    total += Math.max(0, end - Math.max(start, until));
    until = Math.max(until, end);
  }
  return total;
}

const stores = await startStores();
const redis = new Redis(stores.redis.url);
const logger = createLogger({ name: 'bench', level: 'silent' });
const clickhouse = timed(stores.client);
const catalog = createCatalog({
  redis,
  clickhouse,
  instanceKey: Buffer.from(INSTANCE_KEY, 'hex'),
  now: Date.now,
  logger,
  baseUrl: 'http://127.0.0.1',
});
const rateLimiter = createRateLimiter(redis, { instanceKey: Buffer.alloc(32) });
const dataDir = temporaryDirectory('waymark-bench-');
const app = buildApp(
  { logger, docBase: 'http://127.0.0.1', trustedProxies: [] },
  {
    ...{ catalog, redis, queueShards: [redis], clickhouse, rateLimiter, logger, now: Date.now },
    ...{
      exportSlots: createExportSlots(),
      dataDir,
      exportBytesMax: 0,
      baseUrl: 'http://127.0.0.1',
      defaultDomain: undefined,
      outboundAllowedRanges: [],
    },
  },
);

const { workspace, apiKey } = await catalog.workspaces.create({
  name: 'Bench',
  slug: 'bench',
  plan: 'enterprise',
  domain: 'go.bench.test',
});
await catalog.workspaces.update(workspace.id, { analyticsPerSecond: 1_000_000 });

async function numbers(kind: 'link' | 'customer', records: Promise<{ readonly id: string }[]>): Promise<string[]> {
  return (await records).map(({ id }) => parseResourceId(kind, id) ?? '0');
}

/** A day of events on many links; every twentieth click has a lead and a sale. */
async function fill(): Promise<void> {
  const each = <T>(count: number, make: (index: number) => Promise<T>) =>
    Promise.all(Array.from({ length: count }, (_, index) => make(index)));
  const links = await numbers(
    'link',
    each(LINKS, (index) =>
      catalog.links.create(workspace.id, {
        domain: 'go.bench.test',
        key: `k${index}`,
        url: `https://example.com/${index}`,
      }),
    ),
  );
  const customers = await numbers(
    'customer',
    each(CUSTOMERS, (index) => catalog.customers.create(workspace.id, { externalId: `user_${index}`, name: 'Ada' })),
  );
  const workspaceId = parseResourceId('workspace', workspace.id) ?? '0';
  const now = Date.now();
  for (let first = 0; first < CLICKS; first += ROWS_PER_INSERT) {
    const clicks = Array.from({ length: Math.min(ROWS_PER_INSERT, CLICKS - first) }, (_, offset): EventRow => {
      const index = first + offset;
      const timestampMs = now - Math.floor((index / CLICKS) * DAY_MS * 0.9);
      return clickRow({
        workspaceId,
        linkId: links[(index * 7919) % LINKS] ?? '0',
        clickId: createEventId(timestampMs),
        timestampMs,
        trigger: index % 5 === 0 ? 'qr' : 'link',
        url: `https://example.com/landing/${index % 50}?utm_source=bench&utm_campaign=c${index % 20}&ref=${randomUUID()}`,
        country: ['US', 'DE', 'FR', 'IN'][index % 4] ?? '',
        region: 'CA',
        city: ['Austin', 'Berlin', 'Lyon', 'Pune'][index % 4] ?? '',
        continent: 'NA',
        device: 'Desktop',
        browser: 'Chrome',
        os: 'Windows',
        userAgent: 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0',
        referer: 'news.example.com',
        refererUrl: 'https://news.example.com/story',
        ip: `203.0.113.${index % 256}`,
      });
    });
    const converted = clicks.filter((_click, index) => index % CONVERSIONS_EVERY === 0);
    const facts = (click: EventRow, index: number) => ({
      eventId: createEventId(Number(click[1])),
      timestampMs: Number(click[1]),
      customerId: customers[index % CUSTOMERS] ?? '0',
      metadata: { plan: 'pro', seats: index % 9 },
    });
    const leads = converted.map((click, index) => leadRow(click, { ...facts(click, index), eventName: 'Sign up' }));
    const sales = converted.map((click, index) =>
      saleRow(click, {
        ...facts(click, index),
        eventName: 'Purchase',
        amount: 2900,
        currency: 'usd',
        invoiceId: randomUUID(),
        paymentProcessor: 'stripe',
        saleType: 'new',
      }),
    );
    for (const [kind, rows] of [
      ['click', clicks],
      ['lead', leads],
      ['sale', sales],
    ] as const) {
      const { table, columns } = EVENT_TABLES[kind];
      await insertRows(stores.client, { table, columns: columns[1], rows });
    }
  }
}

interface Measured {
  readonly totalMs: number;
  readonly clickhouseMs: number;
}
const measured: Measured[] = [];
app.addHook('onRequest', async () => {
  waits.length = 0;
});
app.addHook('onResponse', async (_request, reply) => {
  measured.push({ totalMs: reply.elapsedTime, clickhouseMs: waitedMs(waits) });
});

try {
  await fill();
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const run = async (kind: string, count: number) => {
    measured.length = 0;
    const { statuses } = await closedLoop({
      port,
      count,
      connections: 1,
      request: (index) =>
        `GET /events?event=${kind}&page=${1 + (index % 20)} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${apiKey.token}\r\n\r\n`,
    });
    if (statuses['200'] !== count) throw new Error(`answers other than 200: ${JSON.stringify(statuses)}`);
    return [...measured];
  };

  console.log(`\n${machineLine()}\n`);
  const rows: string[][] = [];
  for (const kind of KINDS) {
    await run(kind, WARM_UP);
    const before = process.cpuUsage();
    const samples = await run(kind, REQUESTS);
    const { user, system } = process.cpuUsage(before);
    const clickhouseMs = median(samples.map((sample) => sample.clickhouseMs));
    const oursMs = median(samples.map((sample) => sample.totalMs - sample.clickhouseMs));
    rows.push([
      kind,
      median(samples.map((sample) => sample.totalMs)).toFixed(2),
      clickhouseMs.toFixed(2),
      oursMs.toFixed(2),
      (oursMs / clickhouseMs).toFixed(2),
      ((user + system) / REQUESTS / 1000).toFixed(2),
    ]);
  }
  printTable(
    [
      `GET /events, 100 items, ${CLICKS} clicks; ms, median of ${REQUESTS}`,
      'whole request',
      'waiting for ClickHouse',
      'in our process',
      'ours ÷ ClickHouse',
      'CPU of our process, load included',
    ],
    rows,
  );
} finally {
  await app.close();
  await catalog.close();
  await rateLimiter.close();
  redis.disconnect();
  await stores.stop();
}
