import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Catalog, createCatalog, customerRow, draftCustomer } from '@waymark/catalog';
import { type ClickHouseClient, createClickHouseClient } from '@waymark/clickhouse';
import { createEventProducer, createEventWriter, type EventProducer, type EventWriter } from '@waymark/event-queue';
import { connectRedis } from '@waymark/redis';
import {
  aClick,
  aLead,
  aSale,
  createTestDatabase,
  startRedis,
  type TestDatabase,
  type TestRedis,
  waitFor,
} from '@waymark/test-kit';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';

/**
 * On replicas, a sequential read leaves out rows that were inserted without a quorum once a table has had an insert with one. Here the
 * tables are not replicated, so the settings have no effect, but they are sent.
 */

const silent = { debug() {}, info() {}, warn() {}, error() {} };
let redis: TestRedis;
let redisClient: Redis;
let database: TestDatabase;
let proxy: Server;
let clickhouse: ClickHouseClient;
let catalog: Catalog;
let producer: EventProducer;
let writer: EventWriter;
let directory: string;
/** Of each table, whether its inserts waited for a quorum. */
const inserts = new Map<string, Set<boolean>>();
/** How long they wait for it. */
const quorumTimeouts = new Set<number>();
/** `request_timeout` of the client. */
const ANSWER_MS = 30_000;

/** Passes requests on to ClickHouse, and records its inserts. */
function startProxy(target: URL): Server {
  return createServer((incoming, response) => {
    const { searchParams } = new URL(incoming.url ?? '/', target);
    const table = /^\s*INSERT INTO (?:\w+\.)?(\w+)/.exec(searchParams.get('query') ?? '')?.[1];
    if (table !== undefined) {
      const kinds = inserts.get(table) ?? new Set();
      const waits = searchParams.get('insert_quorum') === 'auto';
      inserts.set(table, kinds.add(waits));
      if (waits) quorumTimeouts.add(Number(searchParams.get('insert_quorum_timeout') ?? Number.POSITIVE_INFINITY));
    }
    const { hostname, port } = target;
    const { method, headers, url } = incoming;
    const outgoing = request({ hostname, port, method, headers, path: url }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    outgoing.once('error', () => response.destroy());
    incoming.pipe(outgoing);
  });
}

const startWriter = (options: { waitsForQuorum?: boolean } = {}) =>
  createEventWriter({ redisUrl: redis.url, clickhouse, isReplicated: true, logger: silent, ...options });

beforeAll(async () => {
  [redis, database, directory] = await Promise.all([
    startRedis(),
    createTestDatabase(),
    mkdtemp(join(tmpdir(), 'waymark-quorum-')),
  ]);
  const target = new URL(database.url);
  proxy = startProxy(target).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const { port } = proxy.address() as AddressInfo;
  const { username, password } = target;
  clickhouse = createClickHouseClient({
    url: `http://${username}:${password}@127.0.0.1:${port}`,
    database: database.database,
  });
  redisClient = connectRedis(redis.url);
  catalog = createCatalog({
    ...{ redis: redisClient, clickhouse, instanceKey: Buffer.alloc(32, 1), now: Date.now, logger: silent },
    ...{ baseUrl: 'http://api.test', isReplicated: true },
  });
  producer = createEventProducer({ redisUrl: redis.url, spoolDirectory: join(directory, 'spool'), logger: silent });
  writer = startWriter();
});

afterAll(async () => {
  await writer.close();
  await producer.close();
  await catalog.close();
  await clickhouse.close();
  redisClient.disconnect();
  proxy.close();
  await Promise.all([redis.stop(), database.drop()]);
  await rm(directory, { recursive: true });
});

it('every insert into a table of records waits for a quorum, whoever sends it; those of events do not', async () => {
  const { workspace } = await catalog.workspaces.create({ name: 'A', slug: 'a', plan: 'enterprise', domain: 'a.test' });
  const link = await catalog.links.create(workspace.id, { domain: 'a.test', key: 'x', url: 'https://acme.com' });
  const details = { externalId: 'someone', name: null, email: null, avatar: null, country: null };
  const attribution = { clickId: null, linkId: link.id, programId: null, partnerId: null, clickedAt: null };
  const customer = draftCustomer(workspace.id, { ...details, ...attribution }, Date.now());
  await producer.commit({
    rows: [
      { kind: 'customer', row: customerRow(customer, 1) },
      { kind: 'click', row: aClick() },
      { kind: 'lead', row: aLead() },
      { kind: 'sale', row: aSale() },
    ],
    finals: [],
  });
  const events = ['click_events', 'lead_events', 'sale_events'];
  const records = ['customers', 'links', 'workspaces', 'names'];
  await waitFor(() => [...events, ...records].every((table) => inserts.has(table)), { what: 'all inserts' });
  for (const [table, kinds] of inserts) expect([table, ...kinds]).toEqual([table, !events.includes(table)]);
  expect(Math.max(...quorumTimeouts)).toBeLessThan(ANSWER_MS);
});

it('with CLICKHOUSE_EVENTS_QUORUM those of events wait as well', async () => {
  await writer.close();
  inserts.clear();
  writer = startWriter({ waitsForQuorum: true });
  await producer.commit({ rows: [{ kind: 'click', row: aClick() }], finals: [] });
  await waitFor(() => inserts.has('click_events'), { what: 'the insert' });
  expect([...(inserts.get('click_events') ?? [])]).toEqual([true]);
  expect(Math.max(...quorumTimeouts)).toBeLessThan(ANSWER_MS);
});
