// The cost of rules: a link with every rule compared with a plain one, a returning visitor compared with a bare 302, and /track/lead
// compared with a bare JSON POST. CPU per request of the process that answers, measured alternately.

import { type IncomingHttpHeaders, request } from 'node:http';
import { closedLoop } from './lib/http-load.js';
import { jsonPost } from './lib/json-post.js';
import { processCpuMicroseconds } from './lib/process-cpu.js';
import { machineLine, printTable } from './lib/report.js';
import { startBareFastify, startService } from './lib/service.js';
import { median } from './lib/statistics.js';
import { BENCH_DOMAIN, createBenchLink, startStores, withCatalog } from './lib/stores.js';
import { visitorRequest } from './lib/visitors.js';

const ROUNDS = 7;
const REQUESTS = 10_000;
const CONNECTIONS = 64;
const PASSWORD = 'the password of the bench';

const stores = await startStores();
const { workspaceId, key, token } = await createBenchLink(stores);
await withCatalog(stores, (catalog) =>
  catalog.links.create(workspaceId, {
    domain: BENCH_DOMAIN,
    key: 'rules',
    url: 'https://example.com/landing?utm_source=bench',
    trackConversion: true,
    password: PASSWORD,
    expiresAt: new Date(Date.now() + 86_400_000).toISOString(),
    proxy: true,
    title: 'A preview',
    ios: 'https://example.com/ios?utm_source=bench',
    android: 'https://example.com/android?utm_source=bench',
    geo: { DE: 'https://example.de/', FR: 'https://example.fr/', US: 'https://example.com/us?utm_source=bench' },
    testVariants: [
      { url: 'https://example.com/a?utm_source=bench', percentage: 50 },
      { url: 'https://example.com/b?utm_source=bench', percentage: 50 },
    ],
    testCompletedAt: new Date(Date.now() + 86_400_000).toISOString(),
  }),
);
const ingest = await startService('ingest', stores.environment);
const writer = await startService('writer', stores.environment);
const bare = await startBareFastify();
let next = 0;

/** Response headers of the link port. Not by `fetch`, which cannot set the Host header. */
function send(method: string, path: string, body = ''): Promise<IncomingHttpHeaders> {
  const headers = {
    host: BENCH_DOMAIN,
    'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
    'content-type': 'application/x-www-form-urlencoded',
  };
  return new Promise((resolve, reject) => {
    const sent = request({ port: ingest.port, method, path, headers }, (answer) => {
      answer.resume();
      resolve(answer.headers);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** The cookies of a browser that has opened the link and was assigned a variant. */
async function cookiesOf(path: string): Promise<string> {
  const { 'set-cookie': opened = [] } = await send('POST', path, `password=${encodeURIComponent(PASSWORD)}`);
  if (opened.length === 0) throw new Error('the password does not open the link');
  const variant = `dub_test_url=${encodeURIComponent('https://example.com/b?utm_source=bench')}`;
  return [...opened.map((cookie) => cookie.split(';')[0]), variant].join('; ');
}

async function clickOf(path: string): Promise<string> {
  const { location } = await send('GET', path);
  return new URL(location ?? '').searchParams.get('dub_id') ?? '';
}

const cookies = await cookiesOf('/rules');
const clickId = await clickOf(`/${key}`);
const lead = (index: number) => ({
  clickId,
  eventName: 'Sign up',
  customerExternalId: `user-${index}`,
  customerName: 'Ada Lovelace',
  customerEmail: `user-${index}@example.com`,
  metadata: { plan: 'pro', seats: 5 },
});

interface Case {
  readonly name: string;
  readonly pid: number;
  readonly port: number;
  readonly status: string;
  readonly request: (index: number) => string;
}
const cases: readonly Case[] = [
  { name: 'bare 302', ...bare, status: '302', request: (index) => visitorRequest(BENCH_DOMAIN, key, index) },
  { name: 'plain', ...ingest, status: '302', request: (index) => visitorRequest(BENCH_DOMAIN, key, index) },
  {
    name: 'every rule',
    ...ingest,
    status: '302',
    request: (index) => visitorRequest(BENCH_DOMAIN, 'rules', index, [`Cookie: ${cookies}`]),
  },
  { name: 'again', ...ingest, status: '302', request: () => visitorRequest(BENCH_DOMAIN, key, 1) },
  { name: 'bare POST', ...bare, status: '200', request: (index) => jsonPost(token, '/json', lead(index)) },
  {
    name: 'lead',
    pid: ingest.pid,
    port: ingest.apiPort,
    status: '200',
    request: (index) => jsonPost(token, '/track/lead', lead(index)),
  },
];

async function cpuPerRequest({ name, pid, port, status, request: text }: Case): Promise<number> {
  const first = next;
  next += REQUESTS;
  const before = processCpuMicroseconds(pid);
  const report = await closedLoop({
    port,
    count: REQUESTS,
    connections: CONNECTIONS,
    request: (index) => text(first + index),
  });
  const used = processCpuMicroseconds(pid) - before;
  if (report.statuses[status] !== REQUESTS) throw new Error(`${name}: ${JSON.stringify(report.statuses)}`);
  return used / REQUESTS;
}

try {
  console.log(`\n${machineLine()}\n`);
  const measured = new Map<string, number[]>(cases.map(({ name }) => [name, []]));
  for (const each of cases) await cpuPerRequest(each);
  for (let round = 0; round < ROUNDS; round++) {
    for (const each of cases) measured.get(each.name)?.push(await cpuPerRequest(each));
  }
  const middle = (name: string) => median(measured.get(name) ?? []);
  const ratio = (above: string, below: string) => (middle(above) / middle(below)).toFixed(2);
  printTable(
    ['CPU per request, µs, median', ...cases.map(({ name }) => name)],
    [['', ...cases.map(({ name }) => middle(name).toFixed(1))]],
  );
  console.log('');
  printTable(
    ['ratio', 'measured', 'wanted'],
    [
      ['plain ÷ every rule', ratio('plain', 'every rule'), '0.85'],
      ['bare 302 ÷ again', ratio('bare 302', 'again'), '0.65'],
      ['bare POST ÷ lead', ratio('bare POST', 'lead'), '0.55'],
    ],
  );
} finally {
  await Promise.all([ingest.stop(), bare.stop(), writer.stop()]);
  await stores.stop();
}
