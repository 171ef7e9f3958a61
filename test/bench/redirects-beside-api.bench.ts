// Redirects of new visitors at a fixed rate while the API is called, with both in one process, as `npm run up` has them, and with a process
// for each service. Open loop, so that a request of the API that keeps the process busy shows in the latency of every redirect it delays.

import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { ApiCalls, ApiCallsReport } from './lib/api-caller.js';
import { closedLoop, openLoop } from './lib/http-load.js';
import { jsonPost } from './lib/json-post.js';
import { machineLine, printTable } from './lib/report.js';
import { startService } from './lib/service.js';
import { median, percentile } from './lib/statistics.js';
import { BENCH_DOMAIN, createBenchLink, startStores, withCatalog } from './lib/stores.js';
import { visitorRequest } from './lib/visitors.js';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    /** Calls whose names contain this. */
    only: { type: 'string', default: '' },
  },
});
const ROUNDS = Number(values.rounds);
const SECONDS = 4;
const PER_SECOND = 150;
const CONNECTIONS = 64;
const LINKS = 2000;
const LINKS_PER_REQUEST = 100;
const VISITS = 20_000;

const stores = await startStores();
const { token, workspaceId } = await createBenchLink(stores);
await withCatalog(stores, ({ workspaces }) => workspaces.update(workspaceId, { analyticsPerSecond: 1_000_000 }));
const together = await startService('standalone', stores.environment);
const ingest = await startService('ingest', stores.environment);
const query = await startService('query', stores.environment);
const management = await startService('management', stores.environment);
const writer = await startService('writer', stores.environment);
const services = [together, ingest, query, management, writer];
let nextVisitor = 0;

const linkBody = (index: number | string) => ({
  domain: BENCH_DOMAIN,
  key: `beside-${index}`,
  url: `https://example.com/landing/${index}?utm_source=bench&utm_medium=api`,
  comments: 'Made by a bench. '.repeat(10),
});

async function fill(): Promise<void> {
  const requests = Array.from({ length: LINKS / LINKS_PER_REQUEST }, (_none, request) =>
    Array.from({ length: LINKS_PER_REQUEST }, (_one, index) => linkBody(request * LINKS_PER_REQUEST + index)),
  );
  for (const body of requests) {
    const text = jsonPost(token, '/links/bulk', body);
    await closedLoop({ port: management.port, count: 1, connections: 1, request: () => text });
  }
  const visit = (index: number) => visitorRequest(BENCH_DOMAIN, `beside-${index % LINKS}`, index);
  await closedLoop({ port: together.linkPort, count: VISITS, connections: CONNECTIONS, request: visit });
  nextVisitor = VISITS;
}

interface Kind {
  readonly name: string;
  readonly service: 'query' | 'management' | 'ingest';
  readonly calls: Omit<ApiCalls, 'port' | 'token'>;
}

const get = (path: string, callers = 2): Kind['calls'] => ({ method: 'GET', path, callers, pauseMs: 5 });
const post = (path: string, body: unknown, callers = 2): Kind['calls'] => ({
  ...{ method: 'POST', path, callers, pauseMs: 5 },
  body: JSON.stringify(body),
});
const manyLinks = (more: object) =>
  Array.from({ length: LINKS_PER_REQUEST }, (_none, index) => ({ ...linkBody(`{n}-${index}`), ...more }));

const KINDS: readonly Kind[] = [
  { name: 'nothing', service: 'query', calls: { ...get('/openapi.json', 0) } },
  { name: 'GET /events, 100', service: 'query', calls: get('/events?event=clicks&interval=24h&limit=100') },
  { name: 'GET /events, 1000', service: 'query', calls: get('/events?event=clicks&interval=24h&limit=1000') },
  { name: 'GET /analytics', service: 'query', calls: get('/analytics?event=clicks&interval=24h&groupBy=top_links') },
  { name: 'GET /events/export, CSV', service: 'query', calls: get('/events/export?interval=24h&format=csv', 1) },
  {
    name: 'GET /events/export, Parquet',
    service: 'query',
    calls: get('/events/export?interval=24h&format=parquet', 1),
  },
  { name: 'GET /links, 100', service: 'management', calls: get('/links?pageSize=100&sortBy=clicks') },
  { name: 'POST /links/bulk, 100 links', service: 'management', calls: post('/links/bulk', manyLinks({}), 1) },
  {
    name: 'POST /links/bulk, 100 links of 100 kB',
    service: 'management',
    calls: post('/links/bulk', manyLinks({ description: 'x'.repeat(100_000) }), 1),
  },
  { name: 'GET /qr', service: 'management', calls: get('/qr?url=https://go.bench.test/beside-1&size=2048') },
  { name: 'GET /openapi.json', service: 'query', calls: get('/openapi.json') },
];

async function startCalls(kind: Kind, port: number): Promise<() => Promise<ApiCallsReport>> {
  const child: ChildProcess = fork(join(import.meta.dirname, 'lib/api-caller.ts'), {
    execArgv: ['--import', 'tsx'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const message = () => new Promise((done) => child.once('message', done));
  await message();
  child.send({ ...kind.calls, port, token } satisfies ApiCalls);
  return async () => {
    const report = message();
    child.send('stop');
    return (await report) as ApiCallsReport;
  };
}

interface Measured {
  readonly latenciesMs: readonly number[];
  readonly perSecond: number;
}

async function measure(kind: Kind, isTogether: boolean): Promise<Measured> {
  const apart = { query, management, ingest }[kind.service];
  const stop = await startCalls(kind, isTogether ? together.apiPort : apart.apiPort);
  const first = nextVisitor;
  const count = PER_SECOND * SECONDS;
  nextVisitor += count;
  const { latenciesMs, statuses, seconds } = await openLoop({
    port: isTogether ? together.linkPort : ingest.linkPort,
    ...{ count, perSecond: PER_SECOND, connections: CONNECTIONS },
    request: (index) => visitorRequest(BENCH_DOMAIN, `beside-${(first + index) % LINKS}`, first + index),
  });
  const { answered, refused } = await stop();
  if (statuses['302'] !== count) throw new Error(`answers other than 302: ${JSON.stringify(statuses)}`);
  if (Object.keys(refused).length > 0) console.error(`${kind.name}: refused ${JSON.stringify(refused)}`);
  return { latenciesMs, perSecond: answered / seconds };
}

try {
  console.log(`\n${machineLine()}\n`);
  await fill();
  const rows: string[][] = [];
  for (const kind of KINDS.filter(({ name }) => name.includes(values.only))) {
    const measured = new Map<string, Measured[]>([
      ['one process', []],
      ['apart', []],
    ]);
    for (let round = 0; round < ROUNDS; round++) {
      for (const [topology, runs] of measured) runs.push(await measure(kind, topology === 'one process'));
    }
    for (const [topology, runs] of measured) {
      const middle = (of: (run: Measured) => number) => median(runs.map(of)).toFixed(1);
      rows.push([
        kind.name,
        topology,
        ...[0.5, 0.95, 0.99, 1].map((share) => middle(({ latenciesMs }) => percentile(latenciesMs, share))),
        middle(({ perSecond }) => perSecond),
      ]);
      console.error(rows.at(-1)?.join(' | '));
    }
  }
  printTable(
    [
      `${PER_SECOND} new visitors/s beside`,
      'API and redirects',
      ...['p50 ms', 'p95 ms', 'p99 ms', 'most ms', 'calls a second'],
    ],
    rows,
  );
} finally {
  await Promise.all(services.map((service) => service.stop()));
  await stores.stop();
}
