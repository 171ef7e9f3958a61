import { applyPlacement, type ClickHouseClient, createClickHouseClient, migrate } from '@waymark/clickhouse';
import { parseResourceId } from '@waymark/contract';
import {
  aClick,
  aLead,
  insertClicks,
  insertLeads,
  startStores,
  startTestCluster,
  type TestCluster,
  type TestStores,
  waitFor,
} from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { lateRowsOf, startErasures } from '../src/index.js';

/** The records are on one server, because the servers of a test cluster cannot combine all that is read of records. */
let stores: TestStores;
let nodes: TestCluster;
let client: ClickHouseClient;
const warnings: string[] = [];
const logger = { info() {}, error() {}, warn: (_: unknown, text?: string) => void warnings.push(text ?? '') };

beforeAll(async () => {
  [stores, nodes] = await Promise.all([startStores(), startTestCluster({ shards: 2 })]);
  client = createClickHouseClient({ url: nodes.url, database: nodes.databases[0] ?? '' });
  await migrate(client, nodes);
  await applyPlacement(client, nodes);
});
afterAll(async () => {
  await client?.close();
  await Promise.all([stores?.close(), nodes?.stop()]);
});

it('a batch changes no counter and starts no mutation while the move of a logical shard is unfinished, and goes on after it', async () => {
  const catalog = stores.catalog();
  const { workspace } = await catalog.workspaces.create({ name: 'Acme', slug: 'acme', plan: 'enterprise' });
  const workspaceId = parseResourceId('workspace', workspace.id) ?? '';
  const gone = await catalog.customers.create(workspace.id, { externalId: 'gone', country: 'US' });
  const click = aClick({ workspaceId, linkId: '7' });
  await insertClicks(client, [click]);
  await insertLeads(client, [aLead({ click, customerId: parseResourceId('customer', gone.id) ?? '' })]);
  await catalog.erasures.accept(workspace.id, { externalId: 'gone', customerIds: [gone.id] }, 'delete');

  const logical = Number(BigInt(workspaceId) % 840n);
  const [from, to] = [(logical % 2) + 1, 2 - (logical % 2)];
  const store = (other: number, step: string) =>
    client.command({
      query: `INSERT INTO schema_shards SELECT {logical:UInt16}, {from:UInt16}, {other:UInt16}, {step:String}, now64(3), max(version) + 1 FROM schema_shards`,
      query_params: { logical, from, other, step },
    });
  const leads = async () =>
    (await client.rows({ query: `SELECT sum(leads) FROM link_totals WHERE workspace_id = ${workspaceId}` })).join();
  const mutations = async () =>
    (await client.rows({ query: `SELECT 1 FROM system.mutations WHERE position(command, 'erasure ') > 0` })).length;
  // Servers of a test cluster cannot combine the sums that a subtraction reads: they are read on the one that has the workspace.
  const server = createClickHouseClient({ url: nodes.url, database: nodes.databases[from - 1] ?? '' });
  const clickhouse = Object.assign(Object.create(client) as ClickHouseClient, {
    rows: (read: Parameters<ClickHouseClient['rows']>[0]) =>
      read.query.includes('AS slot')
        ? server.rows({ ...read, query: read.query.replace(/ FROM (\w+_events)/, ' FROM $1_local') })
        : client.rows(read),
  });
  const erasures = startErasures({
    ...{ catalog, redis: stores.client, clickhouse, cluster: nodes.cluster, lateRows: lateRowsOf(catalog) },
    ...{ queueShards: [stores.client], logger, gatherMs: 0, settleMs: 0, intervalMs: 2 ** 30, moveWaitMs: 0 },
  });
  await store(to, 'copying');
  await erasures.run();
  await erasures.run();
  expect([await leads(), await mutations()]).toEqual(['1', 0]);
  expect((await catalog.erasures.begun()).map(({ status }) => status)).toEqual(['processing']);
  expect(warnings).toEqual([expect.stringContaining(`\`npx waymark shards move ${logical} --to ${to}\` continues it`)]);
  await store(0, '');
  await waitFor(
    async () => {
      await erasures.run();
      return (await mutations()) > 0;
    },
    { what: 'the mutations', timeoutMs: 20_000 },
  );
  await erasures.close();
  await server.close();
  expect(await leads()).toBe('0');
}, 120_000);
