import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createEventId, formatResourceId } from '@waymark/contract';
import {
  aClick,
  aLead,
  dropOtherTables,
  insertClicks,
  insertLeads,
  startTestCluster,
  type TestCluster,
  waitFor,
} from '@waymark/test-kit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  applyPlacement,
  betweenMoves,
  type ClickHouseClient,
  createClickHouseClient,
  type ErasureBatch,
  migrate,
  moveShard,
  prepareErasure,
  type RunningMutation,
  removeDeletedRows,
  startErasure,
} from '../../src/index.js';
import { takeSchemaLease } from '../../src/migrations/schema-lease.js';

/** Of logical shard 3, which begins on shard 2. */
const WORKSPACE = 3;
const AT = Date.now() - 60_000;
const NEVER = new AbortController().signal;

let nodes: TestCluster;
let client: ClickHouseClient;
/** The only servers of shard 1 and of shard 2. */
const servers: ClickHouseClient[] = [];
const serverOf = (shard: number) => servers[shard - 1] as ClickHouseClient;

beforeAll(async () => {
  nodes = await startTestCluster({ shards: 2 });
  for (const database of nodes.databases) servers.push(createClickHouseClient({ url: nodes.url, database }));
  client = serverOf(1);
  await migrate(client, nodes);
  await applyPlacement(client, nodes);
  expect(await dropOtherTables(client, nodes.cluster, ['webhook_deliveries'])).toBeGreaterThan(9);
});
afterAll(async () => {
  await Promise.all(servers.map((server) => server.close()));
  await nodes.stop();
});

const publicIdOf = (customer: number) => formatResourceId('customer', String(customer));

/** Stores a click and a lead of a customer, with a text. */
async function insertEvents(customer: number, text: string): Promise<void> {
  const click = aClick({ workspaceId: String(WORKSPACE), timestampMs: AT, clickId: createEventId(AT), city: text });
  await insertClicks(client, [click]);
  await insertLeads(client, [aLead({ click, customerId: String(customer), timestampMs: AT })]);
}

const batchOf = (...customers: number[]): ErasureBatch => ({
  id: crypto.randomUUID(),
  customers: customers.map((customer) => ({
    ...{ workspace: String(WORKSPACE), customer: String(customer), publicId: publicIdOf(customer), isDeleted: false },
  })),
  clicks: [],
});

async function startMutations(batch: ErasureBatch): Promise<void> {
  const target = { client, cluster: nodes.cluster };
  const prepared = await prepareErasure(target, batch);
  const tables = (await client.rows<[string]>({ query: 'SHOW TABLES' })).flat();
  await startErasure(target, { ...prepared, missing: prepared.missing.filter(({ table }) => tables.includes(table)) });
}

const areMutationsDone = async () => {
  const running = 'SELECT 1 FROM system.mutations WHERE NOT is_done AND database LIKE {node:String} LIMIT 1';
  return (await client.rows({ query: running, parameters: { node: 'waymark%' } })).length === 0;
};

/** The tables of a server of which a file that is in use contains a text. */
async function tablesWith(text: string, server: ClickHouseClient): Promise<string[]> {
  const parts = await server.rows<[table: string, path: string]>({
    query: 'SELECT table, path FROM system.parts WHERE database = currentDatabase() AND active',
  });
  const isIn = (path: string) =>
    readdirSync(path, { recursive: true, withFileTypes: true }).some(
      (entry) => entry.isFile() && readFileSync(join(entry.parentPath, entry.name)).includes(text),
    );
  return [...new Set(parts.filter(([, path]) => isIn(path)).map(([table]) => table))].sort();
}

/** The mutations of both servers, each by its shard, its table and its number. */
async function mutations(): Promise<string[]> {
  const query = "SELECT concat(table, ' ', mutation_id) FROM system.mutations WHERE database = currentDatabase()";
  const found = await Promise.all(servers.map((server) => server.rows<[string]>({ query })));
  return found.flatMap((rows, index) => rows.map(([mutation]) => `${index + 1} ${mutation}`));
}

/** Tables in whose files short texts are stored as they are, despite compression. */
const TABLES_OF_PERSON = ['click_events_local', 'lead_events_local'];

const steps = () => client.rows({ query: "SELECT step FROM schema_shards FINAL WHERE step != ''" });

test('a move copies nothing that a mutation of an erasure has still to change, and says what it waits for', async () => {
  await insertEvents(1, 'canary one');
  await client.command({
    query: `INSERT INTO webhook_deliveries (workspace_id, timestamp, event_id, request_body)
      VALUES (${WORKSPACE}, now64(3), 'evt_1', '{"id":"${publicIdOf(1)}"}')`,
  });
  expect(await tablesWith('canary one', serverOf(2))).toEqual(TABLES_OF_PERSON);
  await serverOf(2).command({ query: 'SYSTEM STOP MERGES webhook_deliveries_local' });
  await startMutations(batchOf(1));
  const waits: (readonly RunningMutation[])[] = [];
  const moving = moveShard(client, {
    ...{ cluster: nodes.cluster, logical: WORKSPACE, to: 1, onWait: (running) => waits.push(running) },
  });
  await waitFor(async () => waits.length > 0 || (await steps()).join() === 'switching', { what: 'the move' });
  await serverOf(2).command({ query: 'SYSTEM START MERGES webhook_deliveries_local' });
  expect(await moving).toMatchObject({ from: 2, to: 1 });
  expect(waits[0]).toEqual([
    { server: expect.stringMatching(/^shard 2, /), table: 'webhook_deliveries_local', error: '' },
  ]);
  expect(await serverOf(1).rows({ query: 'SELECT event_id, request_body FROM webhook_deliveries_local' })).toEqual([
    ['evt_1', ''],
  ]);
  // Its click was not part of the batch.
  expect(await tablesWith('canary one', serverOf(1))).toEqual(['click_events_local']);
}, 120_000);

test('a logical shard moves back with the same rows, which the shard had inserted before', async () => {
  const { rows } = await moveShard(client, { cluster: nodes.cluster, logical: WORKSPACE, to: 2 });
  expect(rows).toMatchObject({ click_events: 1, lead_events: 1, link_totals: 1 });
  expect(await serverOf(2).rows({ query: 'SELECT count() FROM lead_events_local' })).toEqual([['1']]);
}, 120_000);

test('an erasure removes also what is left of a person in files after a move', async () => {
  await insertEvents(2, 'canary two');
  await moveShard(client, { cluster: nodes.cluster, logical: WORKSPACE, to: 1 });
  expect(await serverOf(2).rows({ query: 'SELECT 1 FROM lead_events_local' })).toEqual([]);
  expect(await tablesWith('canary two', serverOf(2))).toEqual(TABLES_OF_PERSON);
  await startMutations(batchOf(2));
  await waitFor(areMutationsDone, { what: 'the mutations' });
  expect(await tablesWith('canary two', serverOf(2))).toEqual(['click_events_local']);
  expect(await tablesWith('canary two', serverOf(1))).toEqual(['click_events_local']);
}, 120_000);

test('moved rows are removed from the files of the old shard, with one mutation of each table that has any', async () => {
  const before = await tablesWith('canary', serverOf(2));
  expect(before).toContain('click_events_local');
  const mutationsBefore = await mutations();
  const rewritten = await removeDeletedRows(client, nodes);
  expect(rewritten).toContainEqual({ shard: 2, table: 'click_events_local' });
  const started = (await mutations()).filter((mutation) => !mutationsBefore.includes(mutation));
  expect(started.map((mutation) => mutation.replace(/ \S+$/, '')).sort()).toEqual(
    rewritten.map(({ shard, table }) => `${shard} ${table}`).sort(),
  );
  expect(await tablesWith('canary', serverOf(2))).toEqual([]);
  expect(await tablesWith('canary two', serverOf(1))).toEqual(['click_events_local']);
  expect(await client.rows({ query: `SELECT count() FROM click_events_local` })).toEqual([['2']]);
  expect(await removeDeletedRows(client, nodes)).toEqual([]);
});

test('work between moves is not done while one is unfinished, and done afterwards', async () => {
  const store = (other: number, step: string) =>
    client.command({
      query: `INSERT INTO schema_shards SELECT 5, 2, {other:UInt16}, {step:String}, now64(3), max(version) + 1 FROM schema_shards`,
      query_params: { other, step },
    });
  let runs = 0;
  const attempt = () =>
    betweenMoves({ client, cluster: nodes.cluster, waitMs: 20_000, signal: NEVER }, async () => {
      runs += 1;
    });
  await store(1, 'copying');
  expect(await attempt()).toEqual({ isDone: false, move: { logical: 5, from: 2, to: 1, step: 'copying' } });
  await store(1, 'switching');
  expect(await attempt()).toMatchObject({ isDone: false, move: { step: 'switching' } });
  expect(runs).toBe(0);
  await store(0, '');
  expect([await attempt(), runs]).toEqual([{ isDone: true }, 1]);
});

test('work between moves has the next turn before a command that takes the lease again at once', async () => {
  const owners = () =>
    client.rows({ query: 'SELECT owner FROM schema_migration_leases FINAL WHERE expires_at > now64(3)' });
  let lease = await takeSchemaLease(client, nodes);
  let [isDone, moves] = [false, 0];
  const work = betweenMoves({ client, cluster: nodes.cluster, waitMs: 60_000, signal: NEVER }, async () => {
    isDone = true;
  });
  await waitFor(async () => (await owners()).length === 2, { what: 'the work to wait' });
  while (!isDone && moves < 10) {
    moves += 1;
    await lease.release();
    lease = await takeSchemaLease(client, nodes);
  }
  await lease.release();
  expect([await work, moves]).toEqual([{ isDone: true }, 1]);
}, 60_000);

test('work between moves gives up when its time has passed or its process ends, and leaves no lease', async () => {
  const lease = await takeSchemaLease(client, nodes);
  const never = async () => {
    throw new Error('done');
  };
  const options = { client, cluster: nodes.cluster };
  expect(await betweenMoves({ ...options, waitMs: 0, signal: NEVER }, never)).toEqual({ isDone: false });
  expect(await betweenMoves({ ...options, waitMs: 60_000, signal: AbortSignal.abort() }, never)).toEqual({
    isDone: false,
  });
  await lease.release();
  await (await takeSchemaLease(client, nodes)).release();
});
