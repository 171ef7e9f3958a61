// The cost of links: creating them one by one and a hundred at once, and listing a page of a workspace with a million links, by every
// sort. Lists are also requested through a proxy that measures the time spent in ClickHouse.
// `--links` sets the number of existing links, `--creates` the number of created ones.

import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createCatalog } from '@waymark/catalog';
import { parseResourceId } from '@waymark/contract';
import { Redis } from 'ioredis';
import { closedLoop } from './lib/http-load.js';
import { processCpuMicroseconds } from './lib/process-cpu.js';
import { machineLine, printTable } from './lib/report.js';
import { startService } from './lib/service.js';
import { median, percentile } from './lib/statistics.js';
import { INSTANCE_KEY, startStores } from './lib/stores.js';
import { startTimedProxy } from './lib/timed-proxy.js';
import { resourceId } from './query/dataset/sql.js';

const { values } = parseArgs({
  options: { links: { type: 'string', default: '1000000' }, creates: { type: 'string', default: '10000' } },
});
const LINKS = Number(values.links);
const CREATES = Number(values.creates);
const CLIENTS = 32;
const BULKS = 20;
const ROUNDS = 11;
const LINKS_PER_INSERT = 100_000;
const DOMAIN = 'go.bench.test';

const stores = await startStores();
const management = await startService('management', stores.environment);

/** Creates a workspace without limits. @returns its key */
async function createWorkspace(slug: string, domain: string) {
  const redis = new Redis(stores.redis.url);
  const catalog = createCatalog({
    ...{ redis, clickhouse: stores.client, instanceKey: Buffer.from(INSTANCE_KEY, 'hex'), now: Date.now },
    ...{ logger: { warn() {} }, baseUrl: 'http://127.0.0.1' },
  });
  const created = await catalog.workspaces.create({ name: slug, slug, plan: 'enterprise', domain });
  await catalog.workspaces.update(created.workspace.id, { requestsPerMinute: 100_000_000 });
  const link = await catalog.links.create(created.workspace.id, {
    ...{ domain, key: 'template', url: 'https://www.shop.example/product/1', title: 'A product of the shop' },
    description: 'What the page says of it, in a sentence or two, as it is shown where the link is shared.',
  });
  await catalog.close();
  redis.disconnect();
  return { workspaceId: created.workspace.id, token: created.apiKey.token, template: link };
}

function httpText(method: string, path: string, token: string, body?: unknown): string {
  const payload = body === undefined ? '' : JSON.stringify(body);
  const type = body === undefined ? '' : 'content-type: application/json\r\n';
  return `${method} ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n${type}content-length: ${payload.length}\r\n\r\n${payload}`;
}

async function number(query: string): Promise<number> {
  const result = await stores.client.query({ query, format: 'JSONCompactEachRow' });
  const [[value] = []] = await result.json<[string]>();
  return Number(value);
}

/** The number of inserts: the highest block number increases by one with each. */
const insertsSoFar = () =>
  number("SELECT max(max_block_number) FROM system.parts WHERE database = 'waymark' AND table = 'links'");
const activeParts = () =>
  number("SELECT count() FROM system.parts WHERE database = 'waymark' AND table = 'links' AND active");

async function measureCreating(name: string, connections: number, count: number, request: (index: number) => string) {
  const [inserts, cpu] = [await insertsSoFar(), processCpuMicroseconds(stores.clickhouse.pid)];
  const serviceCpu = processCpuMicroseconds(management.pid);
  const report = await closedLoop({ port: management.port, connections, count, request });
  return [
    name,
    JSON.stringify(report.statuses),
    (count / report.seconds).toFixed(0),
    median(report.latenciesMs).toFixed(0),
    percentile(report.latenciesMs, 0.99).toFixed(0),
    (await insertsSoFar()) - inserts,
    await activeParts(),
    ((processCpuMicroseconds(management.pid) - serviceCpu) / count / 1000).toFixed(2),
    ((processCpuMicroseconds(stores.clickhouse.pid) - cpu) / count / 1000).toFixed(2),
  ];
}

/** Copies of a link: one in fifty archived, one in a hundred changed, one in two hundred removed; two in three have clicks. */
async function fillWorkspace({ workspaceId, template }: Awaited<ReturnType<typeof createWorkspace>>): Promise<void> {
  const workspace = parseResourceId('workspace', workspaceId) ?? '';
  const record = JSON.stringify(template).replace(template.id, '<id>').replace('"template"', '"<key>"');
  for (let first = 0; first < LINKS; first += LINKS_PER_INSERT) {
    await stores.client.command({
      query: `INSERT INTO links (workspace_id, id, version, deleted, domain, key, url, archived, created_at, data)
SELECT ${workspace}, bitShiftLeft(toUInt64(1700000000000 + number * 50000), 22) + cityHash64(number) % 4194304 AS id, 1, 0,
  '${DOMAIN}', 'k' || toString(number) AS key, 'https://www.shop.example/product/' || toString(number), number % 50 = 0,
  fromUnixTimestamp64Milli(toInt64(1700000000000 + number * 50000)),
  replaceOne(replaceOne({record:String}, '<id>', ${resourceId('link_', 'id')}), '<key>', key)
FROM numbers(${first}, ${Math.min(LINKS_PER_INSERT, LINKS - first)})`,
      query_params: { record },
    });
  }
  await stores.client.command({
    query: `INSERT INTO links SELECT * REPLACE (2 AS version) FROM links WHERE workspace_id = ${workspace} AND id % 100 = 7`,
  });
  await stores.client.command({
    query: `INSERT INTO links SELECT * REPLACE (3 AS version, 1 AS deleted) FROM links
WHERE workspace_id = ${workspace} AND id % 200 = 17`,
  });
  for (const part of [0, 1, 2, 3]) {
    await stores.client.command({
      query: `INSERT INTO link_totals SELECT workspace_id, id, intDiv(1000000, 1 + cityHash64(id, ${part}) % 1000000) + 1, 1, 0,
  cityHash64(id) % 5 = 0, (cityHash64(id) % 5 = 0) * (cityHash64(id, ${part}) % 10000),
  fromUnixTimestamp64Milli(toInt64(1770000000000 + cityHash64(id, ${part}) % 9000000000)) FROM links
WHERE workspace_id = ${workspace} AND cityHash64(id, 'clicked') % 3 < 2 AND ${part === 0 ? '1' : `cityHash64(id, 'again') % 4 = ${part}`}`,
    });
  }
}

/** Waits for the merges of earlier inserts, which would be measured as well. */
async function untilMerged(): Promise<void> {
  while ((await number('SELECT count() FROM system.merges')) > 0) await delay(500);
}

async function measureListing(
  { port, waited }: { readonly port: number; readonly waited: () => number },
  token: string,
  query: string,
): Promise<(string | number)[]> {
  const cpus: number[] = [];
  const latencies: number[] = [];
  const waits: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    waited();
    const before = processCpuMicroseconds(stores.clickhouse.pid);
    const startMs = performance.now();
    const response = await fetch(`http://127.0.0.1:${port}/links${query}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const body = (await response.json()) as unknown[] | number;
    const isFull = typeof body === 'number' || body.length === 100;
    if (response.status !== 200 || !isFull) throw new Error(`${query}: ${response.status} ${JSON.stringify(body)}`);
    if (round === 0) continue;
    latencies.push(performance.now() - startMs);
    waits.push(waited());
    cpus.push((processCpuMicroseconds(stores.clickhouse.pid) - before) / 1000);
  }
  return [
    `GET /links${query}`,
    median(cpus).toFixed(0),
    Math.min(...latencies).toFixed(0),
    median(latencies).toFixed(0),
    median(waits).toFixed(0),
  ];
}

try {
  console.log(`\n${machineLine()}\n`);
  const maker = await createWorkspace('maker', 'make.bench.test');
  const head = [
    '',
    'answers',
    'requests/s',
    'p50 ms',
    'p99 ms',
    'inserts',
    'parts',
    'service CPU ms',
    'ClickHouse CPU ms',
  ];
  const one = (index: number) => httpText('POST', '/links', maker.token, { url: `https://acme.com/${index}` });
  await measureCreating('warm-up', CLIENTS, 500, one);
  printTable(head, [
    await measureCreating(`POST /links, ${CLIENTS} clients`, CLIENTS, CREATES, one),
    await measureCreating('POST /links/bulk of 100', 1, BULKS, (index) =>
      httpText(
        'POST',
        '/links/bulk',
        maker.token,
        Array.from({ length: 100 }, (_, place) => ({ url: `https://acme.com/${index}/${place}` })),
      ),
    ),
  ]);

  const holder = await createWorkspace('holder', DOMAIN);
  await fillWorkspace(holder);
  await untilMerged();
  console.log(`\n${LINKS} links\n`);
  const proxy = await startTimedProxy(stores.clickhouse.url);
  const listing = await startService('management', { ...stores.environment, CLICKHOUSE_URL: proxy.url });
  const rows: (string | number)[][] = [];
  for (const query of [
    '',
    '?sortOrder=asc',
    '?sortBy=clicks',
    '?sortBy=saleAmount',
    '?sortBy=lastClicked',
    '?sortBy=clicks&sortOrder=asc',
    '?sortBy=clicks&page=10',
    '?page=1000',
    '?search=product/777',
    '/count',
  ]) {
    rows.push(await measureListing({ port: listing.port, waited: proxy.takeBusyMs }, holder.token, query));
  }
  await listing.stop();
  proxy.stop();
  printTable(['', 'ClickHouse CPU ms', 'best ms', 'median ms', 'of it ClickHouse'], rows);
} finally {
  await management.stop();
  await stores.stop();
}
