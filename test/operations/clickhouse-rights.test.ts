import { readFileSync } from 'node:fs';
import {
  applySchema,
  type ClickHouseClient,
  countExpired,
  createClickHouseClient,
  deleteExpired,
  type ErasureBatch,
  erasureProgress,
  findCompleteReplicas,
  listShards,
  moveDatabase,
  moveShard,
  prepareErasure,
  prepareSubtraction,
  startErasure,
} from '@waymark/clickhouse';
import { createEventId } from '@waymark/contract';
import { createLogger } from '@waymark/http-kit';
import { type Operations, startOperations } from '@waymark/observability';
import {
  aClick,
  aLead,
  aSale,
  insertClicks,
  insertLeads,
  insertSales,
  startRedis,
  startTestCluster,
  type TestCluster,
  type TestRedis,
  waitFor,
} from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

/** Whether the rights that docs/production.md lists are enough: everything runs as a user who has no others. */

const PAGE = readFileSync(new URL('../../docs/production.md', import.meta.url), 'utf8');
const [, SECTION = ''] = /### The rights of its user\n([\s\S]+?)\n### /.exec(PAGE) ?? [];
const [OF_SERVER = [], OF_CLUSTER = []] = [...SECTION.matchAll(/```sql\n([\s\S]+?)```/g)].map(([, sql = '']) =>
  [...sql.matchAll(/^GRANT (.+) TO waymark;$/gm)].map(([, grant = '']) => grant),
);
/** The engine has no query log: the test makes one. */
const MAKE_LOG = 'CREATE TABLE ON system.query_log';
const WORKSPACE = '5';
const ERASED: ErasureBatch = {
  id: '00000000-0000-4000-8000-000000000000',
  customers: [{ workspace: WORKSPACE, customer: '1', publicId: 'cus_1', isDeleted: true }],
  clicks: [],
};

const clients: ClickHouseClient[] = [];
function clientOf(nodes: TestCluster, index: number): ClickHouseClient {
  const client = createClickHouseClient({ url: nodes.url, database: nodes.databases[index] ?? '' });
  clients.push(client);
  return client;
}

let redisServer: TestRedis;
let redis: Redis;
beforeAll(async () => {
  redisServer = await startRedis({ args: ['--maxmemory', '64mb'] });
  redis = new Redis(redisServer.url);
});
afterAll(async () => {
  redis.disconnect();
  await Promise.all(clients.map((client) => client.close()));
  await redisServer.stop();
});

/** The measurements of a writer, and what it warns of. */
function measure(clickhouse: ClickHouseClient, clickhouseCluster?: string): { of: Operations; warnings: string[] } {
  const warnings: string[] = [];
  const destination = { write: (line: string) => void warnings.push((JSON.parse(line) as { msg: string }).msg) };
  const of = startOperations({
    ...{ service: 'writer', isWriter: true, redis, clickhouse, clickhouseCluster },
    logger: createLogger({ name: 'writer', level: 'warn', destination }),
    intervalMs: { stores: 50 },
  });
  onTestFinished(() => of.close());
  return { of, warnings };
}

const METRICS = [
  'waymark_clickhouse_parts{table="',
  'waymark_clickhouse_replica_delay_seconds{',
  'waymark_clickhouse_inactive_replicas{',
  'waymark_disk_free_bytes{disk="clickhouse:',
];
async function hasMetrics({ registry }: Operations, names = METRICS): Promise<boolean> {
  const text = await registry.metrics();
  return names.every((name) => text.includes(name));
}

/** Waits until the sizes of tables are in `ops_samples`. */
async function hasSizes({ opsLog }: Operations, client: ClickHouseClient): Promise<void> {
  const query = "SELECT metric FROM ops_samples WHERE startsWith(metric, 'table_bytes:') AND value > 0 LIMIT 1";
  const isWritten = async () => {
    await opsLog.flush();
    return (await client.rows({ query })).length > 0;
  };
  await waitFor(isWritten, { what: 'the sizes of tables' });
}

async function writeEvents(client: ClickHouseClient): Promise<void> {
  const at = Date.now() - 60_000;
  const click = aClick({ workspaceId: WORKSPACE, timestampMs: at, clickId: createEventId(at) });
  await insertClicks(client, [click]);
  await insertLeads(client, [aLead({ click, customerId: '1', timestampMs: at })]);
  await insertSales(client, [aSale({ click, customerId: '1', timestampMs: at, invoiceId: 'a' })]);
}

/** @param cluster its servers here send no states of aggregate functions: each aggregates alone, and `ops_parts`, with a column `table`, fails */
async function readViews(client: ClickHouseClient, cluster?: string): Promise<string[]> {
  const names = await client.rows<[string]>({
    query:
      "SELECT name FROM system.tables WHERE database = currentDatabase() AND match(name, '^(ops|report)_') ORDER BY name",
  });
  const settings = { distributed_group_by_no_merge: 1 };
  for (const [name] of names.filter(([view]) => cluster === undefined || view !== 'ops_parts'))
    await client.rows({ query: `SELECT * FROM ${name} LIMIT 1`, settings });
  return names.map(([name]) => name);
}

/** What a start, the writer and the views need. */
async function startAndWrite(client: ClickHouseClient, cluster?: string): Promise<void> {
  const { applied, placed, hasQueryLogView } = await applySchema(client, { cluster, eventDays: 400, addressDays: 30 });
  expect(applied.length).toBeGreaterThan(40);
  if (cluster !== undefined) expect(placed.length).toBeGreaterThan(25);
  expect(hasQueryLogView).toBe(true);
  await writeEvents(client);
  expect(await readViews(client, cluster)).toEqual(
    expect.arrayContaining(['ops_parts', 'ops_query_log', 'report_sales']),
  );
}

/** What an erasure and the nightly retention need on one server. The servers of the test cluster cannot combine the rows that they read. */
async function eraseAndExpire(client: ClickHouseClient): Promise<void> {
  const target = { client, cluster: undefined };
  await (await prepareSubtraction(target, ERASED))?.run(() => undefined);
  await startErasure(target, await prepareErasure(target, ERASED));
  await waitFor(async () => (await erasureProgress(target, ERASED)).running === 0, { what: 'the erasure' });
  expect(await client.rows({ query: 'SELECT event_id FROM sale_events LIMIT 1' })).toEqual([]);

  const nowMs = Date.now() + 10 * 86_400_000;
  const rules = [{ workspace: WORKSPACE, eventDays: 1 }];
  const expired = await countExpired(client, rules, { nowMs });
  expect((await deleteExpired(client, rules, expired, { nowMs })).changed).toContain('click_events');
}

/** Runs a statement that needs no database. */
async function run(nodes: TestCluster, query: string): Promise<void> {
  const client = createClickHouseClient({ url: nodes.url, database: 'default' });
  clients.push(client);
  await client.command({ query });
}

const makeLog = (nodes: TestCluster) =>
  run(
    nodes,
    `CREATE TABLE system.query_log (event_time DateTime, log_comment String, query_duration_ms UInt64, read_rows UInt64,
      read_bytes UInt64, memory_usage UInt64, exception_code Int32, query String, is_initial_query UInt8, type String) ENGINE = Memory`,
  );

describe('one server', { timeout: 180_000 }, () => {
  let nodes: TestCluster;
  let client: ClickHouseClient;
  beforeAll(async () => {
    // Two databases, each like one of a server of its own.
    nodes = await startTestCluster({ shards: 2, grants: [...OF_SERVER, MAKE_LOG] });
    client = clientOf(nodes, 0);
    await makeLog(nodes);
  });
  afterAll(() => nodes.stop());

  it('a user with the rights of the page can do everything that Waymark does', async () => {
    await startAndWrite(client);
    await eraseAndExpire(client);
  });

  it('has all metrics of the stores, and no warning', async () => {
    const { of, warnings } = measure(client);
    await waitFor(() => hasMetrics(of), { what: 'the metrics of ClickHouse' });
    await hasSizes(of, client);
    expect(warnings).toEqual([]);
  });

  it('the database can be moved', async () => {
    const [source, target] = nodes.databases.map((database) => ({ connection: { url: nodes.url, database } }));
    if (source === undefined || target === undefined) throw new Error('there is no database');
    expect((await moveDatabase({ source, target })).tables.length).toBeGreaterThan(25);
  });

  it('the user has no other rights', async () => {
    for (const query of ['SELECT * FROM system.query_views_log', 'CREATE USER other', 'DROP DATABASE waymark_node_1'])
      await expect(client.command({ query })).rejects.toMatchObject({ code: '497' });
  });
});

it('what ClickHouse refuses is one warning for each kind of metrics; the others are there', async () => {
  const nodes = await startTestCluster({ shards: 1, grants: OF_SERVER.filter((grant) => !grant.includes('.disks')) });
  onTestFinished(() => nodes.stop());
  const client = clientOf(nodes, 0);
  await run(nodes, 'CREATE DATABASE waymark_node_1');
  await client.command({ query: 'CREATE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY a' });
  await client.command({ query: 'INSERT INTO t VALUES (1)' });
  const { of, warnings } = measure(client);
  await waitFor(() => hasMetrics(of, METRICS.slice(0, 3)), { what: 'the other metrics' });
  expect(await hasMetrics(of)).toBe(false);
  const refused = warnings.filter((text) => text.startsWith('ClickHouse refuses'));
  expect(refused).toEqual([expect.stringContaining("the metrics of ClickHouse's disks")]);
});

describe('a cluster', { timeout: 180_000 }, () => {
  let nodes: TestCluster;
  let client: ClickHouseClient;
  beforeAll(async () => {
    nodes = await startTestCluster({ shards: 2, grants: [...OF_SERVER, ...OF_CLUSTER, MAKE_LOG] });
    client = clientOf(nodes, 0);
    await makeLog(nodes);
  });
  afterAll(() => nodes.stop());

  it('a user with the rights of the page can migrate, write and read the views', async () => {
    await startAndWrite(client, nodes.cluster);
    await findCompleteReplicas(client, { cluster: nodes.cluster, table: 'click_events', waitMs: 1 });
  });

  it('has all metrics of the stores, and no warning', async () => {
    const { of, warnings } = measure(client, nodes.cluster);
    await waitFor(() => hasMetrics(of), { what: 'the metrics of ClickHouse' });
    await hasSizes(of, client);
    expect(warnings).toEqual([]);
  });

  it('a logical shard can be moved', async () => {
    const { cluster } = nodes;
    const [first] = (await listShards(client, { cluster })).shards;
    const logical = first?.logical[0] ?? 0;
    expect(await moveShard(client, { cluster, logical, to: 2 })).toMatchObject({ logical, from: 1, to: 2 });
  });
});
