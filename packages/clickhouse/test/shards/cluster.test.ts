import { dropOtherTables, startTestCluster, type TestCluster, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import {
  addServers,
  applyPlacement,
  applyRetention,
  type ClickHouseClient,
  countExpired,
  createClickHouseClient,
  deleteExpired,
  isPlacementApplied,
  listShards,
  migrate,
  moveShard,
} from '../../src/index.js';
import { takeSchemaLease } from '../../src/migrations/schema-lease.js';
import { urlAt } from '../../src/shards/cluster-nodes.js';
import { firstPlacement } from '../../src/shards/placement.js';
import { writePlacement } from '../../src/shards/placement-store.js';
import { definitions } from '../move/populate.js';

/** Statements run on the embedded engine: three nodes, of which the third is added later. */
let nodes: TestCluster;
let client: ClickHouseClient;
const nodeClients: ClickHouseClient[] = [];

beforeAll(async () => {
  nodes = await startTestCluster({ shards: 3 });
  for (const database of nodes.databases) nodeClients.push(createClickHouseClient({ url: nodes.url, database }));
  client = nodeClients[0] as ClickHouseClient;
  await migrate(client, nodes);
});
afterAll(async () => {
  await Promise.all(nodeClients.map((node) => node.close()));
  await nodes.stop();
});

const one = async (query: string, from = client) => (await from.rows<[unknown]>({ query }))[0]?.[0];
/** The value that a query has on every node. */
async function onEveryNode(query: string): Promise<unknown> {
  const [value, ...others] = await Promise.all(nodeClients.map((node) => one(query, node)));
  for (const other of others) expect(other).toEqual(value);
  return value;
}

const keys =
  "SELECT name, extract(engine_full, '\\\\](.*)\\\\)$') FROM system.tables WHERE database = currentDatabase() AND engine = 'Distributed'";

test('a new cluster has every table on every node, replicated as the engine accepts it with Keeper, and events by month', async () => {
  const names =
    "SELECT name FROM system.tables WHERE database = 'replicated' AND engine LIKE 'Replicated%' ORDER BY name";
  const replicated = (await client.rows<[string]>({ query: names })).map(([name]) => name);
  const distributed = await client.rows<[string]>({ query: keys });
  const local = distributed.filter(([name]) => !name.startsWith('report_'));
  expect(local.length).toBeGreaterThan(25);
  expect(replicated).toEqual(expect.arrayContaining(local.map(([name]) => `${name}_local`)));
  const partition =
    "SELECT partition_key FROM system.tables WHERE database = currentDatabase() AND name = 'sale_events_local'";
  for (const node of nodeClients) expect(await one(partition, node)).toBe('toYYYYMM(timestamp)');
});

describe('rows are placed by logical shards', () => {
  beforeAll(async () => {
    // As before the third shard was added: it has no tables, and nothing is placed on it.
    const placed = firstPlacement(2).map((shard, logical) => `(${logical}, ${shard}, 0, '', now64(3), 1)`);
    await client.command({ query: `INSERT INTO schema_shards VALUES ${placed.join(', ')}` });
    await nodeClients[2]?.command({ query: `DROP DATABASE ${nodes.databases[2]}` });
    await nodeClients[0]?.command({ query: `CREATE DATABASE ${nodes.databases[2]}` });
  });

  test('servers that are added get the tables of the others, and nothing else', async () => {
    expect(await addServers(client, nodes)).toEqual([expect.stringMatching(/^shard 3, replica 1 /)]);
    expect(await addServers(client, nodes)).toEqual([]);
    const definitionsOf = (index: number) =>
      definitions(nodeClients[index] as ClickHouseClient, nodes.databases[index] ?? '');
    expect(await definitionsOf(2)).toEqual(await definitionsOf(1));
    expect((await listShards(client, nodes)).shards.map(({ logical }) => logical.length)).toEqual([420, 420, 0]);
  });

  test('an IPv6 address of a server is part of its URL, and two servers that are reached as one are refused', async () => {
    const hosts = ['fd00::1', '[fd00::1]', 'ch1.internal', '10.0.0.2'];
    expect(hosts.map((host) => urlAt('http://user@localhost:8123/', host).href)).toEqual([
      'http://user@[fd00::1]:8123/',
      'http://user@[fd00::1]:8123/',
      'http://user@ch1.internal:8123/',
      'http://user@10.0.0.2:8123/',
    ]);
    const rows = client.rows.bind(client);
    const sameDatabases = vi.spyOn(client, 'rows').mockImplementation(async (query) => {
      const answer = (await rows(query)) as unknown[][];
      const ofNodes = query.query.includes('default_database');
      return (ofNodes ? answer.map((row) => [...row.slice(0, 3), nodes.databases[0]]) : answer) as never;
    });
    const move = moveShard(client, { cluster: nodes.cluster, logical: 1, to: 3 });
    await expect(move).rejects.toThrow(/^shard 1, .* and shard 2, .* are the same server: /);
    sameDatabases.mockRestore();
    expect((await listShards(client, nodes)).move).toBeUndefined();
  });

  test('every table has the placement as its key, measurements a hash of their columns, and a repetition changes nothing', async () => {
    expect((await applyPlacement(client, nodes)).length).toBeGreaterThan(25);
    for (const node of nodeClients) {
      for (const [name, key] of await node.rows<[string, string]>({ query: keys })) {
        const hashed = name === 'names' || /^ops_(?:batches|samples|requests)$/.test(name);
        expect([name, key]).toEqual([
          name,
          expect.stringMatching(hashed ? /^, \(cityHash64\(.*\) % 840\) \+ 1\)$/ : /^, \(workspace_id % 840\) \+ 1\)$/),
        ]);
      }
    }
    expect(await applyPlacement(client, nodes)).toEqual([]);
  });

  test('a read of one workspace, or of some, goes to their shards only, and not to the empty third shard', async () => {
    await client.command({
      query: `INSERT INTO click_events (workspace_id, timestamp, click_id, link_id)
        SELECT number, now64(3), toString(number), 5 FROM numbers(1680)`,
    });
    const held = 'SELECT count() FROM click_events_local';
    expect(await Promise.all(nodeClients.map((node) => one(held, node)))).toEqual(['840', '840', '0']);
    const settings = { force_optimize_skip_unused_shards: 2 };
    for (const query of [
      'SELECT sum(clicks) FROM link_totals WHERE workspace_id = 841',
      'SELECT count() FROM click_events WHERE workspace_id IN (1, 841, 3) AND link_id = 5',
      "SELECT count() FROM names WHERE kind = 'link' AND scope = 'a' AND name = 'b'",
    ]) {
      await client.rows({ query, settings });
    }
    await expect(client.rows({ query: 'SELECT link_id FROM click_events', settings })).rejects.toMatchObject({
      code: '507',
    });
  });

  test('a report of a workspace is counted and joined by its shard only, without the events of removed links', async () => {
    const link = (version: number, deleted: number) =>
      client.command({
        query: `INSERT INTO links (workspace_id, id, version, deleted, domain, key) VALUES (841, 5, ${version}, ${deleted}, 'go.acme.com', 'try')`,
      });
    const report = () =>
      client.rows({
        query: `SELECT c.link_id, l.short_link, count() FROM report_clicks AS c
          LEFT JOIN report_links AS l ON l.workspace_id = c.workspace_id AND l.link_id = c.link_id
          WHERE c.workspace_id = 841 GROUP BY c.link_id, l.short_link`,
        settings: { force_optimize_skip_unused_shards: 2 },
      });
    await link(1, 0);
    expect(await report()).toEqual([['5', 'https://go.acme.com/try', '1']]);
    await link(2, 1);
    expect(await report()).toEqual([]);
  });

  describe('a logical shard is moved', () => {
    beforeAll(async () => {
      expect(await dropOtherTables(client, nodes.cluster)).toBeGreaterThan(8);
    });

    test('a move that was killed when only one server had changed a table is completed', async () => {
      const command = client.command.bind(client);
      let isKilled = false;
      const killed = vi.spyOn(client, 'command').mockImplementation(async (statement) => {
        if (!statement.query.startsWith('CREATE OR REPLACE TABLE')) return command(statement);
        const result = await command({ ...statement, query: statement.query.replace(/ ON CLUSTER `[^`]+`/, '') });
        if (isKilled) throw new Error('killed');
        return result;
      });
      const move = { cluster: nodes.cluster, logical: 2, to: 2 };
      const behind = /^shard 2, .* has not changed click_aliases yet: run the command again/;
      await expect(moveShard(client, move)).rejects.toThrow(behind);
      isKilled = true;
      await expect(moveShard(client, move)).rejects.toThrow('killed');
      killed.mockRestore();
      expect(await moveShard(client, move)).toMatchObject({ logical: 2, from: 1, to: 2 });
      expect(await moveShard(client, { ...move, to: 1 })).toMatchObject({ logical: 2, from: 2, to: 1 });
    });

    test('a command that stood still until its lease had ended fences no table and places none', async () => {
      const target = { cluster: nodes.cluster };
      const row = { logical: 2, shard: 2, other: 1 };
      await writePlacement(client, target, { ...row, step: 'switching' });
      const rows = client.rows.bind(client);
      const now = performance.now.bind(performance);
      const clock = vi.spyOn(performance, 'now');
      const standing = vi.spyOn(client, 'rows').mockImplementation(async (query) => {
        // The last read before the fences.
        if (query.query.includes('MaterializedView')) clock.mockImplementation(() => now() + 60_000);
        return (await rows(query)) as never;
      });
      await expect(moveShard(client, { ...target, logical: 2, to: 2 })).rejects.toThrow('the lease on the schema');
      clock.mockRestore();
      standing.mockRestore();
      const fenced =
        "SELECT count() FROM system.tables WHERE database LIKE 'waymark_node_%' AND create_table_query LIKE '%shard_is_moved%'";
      expect(await one(fenced)).toBe('0');
      await writePlacement(client, target, { ...row, shard: 1, other: 0, step: '' });
    });

    test('a fence that is left by such a command is lifted by the next one, also with nothing to move', async () => {
      const check = 'ADD CONSTRAINT shard_is_moved CHECK NOT (workspace_id % 840 = 2)';
      for (const node of nodeClients.slice(0, 2)) await node.command({ query: `ALTER TABLE links_local ${check}` });
      const move = moveShard(client, { cluster: nodes.cluster, logical: 2, to: 1 });
      await expect(move).rejects.toThrow('logical shard 2 is on shard 1 already');
      const fenced = "SELECT count() FROM system.tables WHERE create_table_query LIKE '%shard_is_moved%'";
      expect(await one(fenced)).toBe('0');
    });

    test('a start replaces no table during a move, and otherwise waits for the lease and reads the placement then', async () => {
      const target = { cluster: nodes.cluster };
      const lease = await takeSchemaLease(client, target);
      await writePlacement(client, target, { logical: 5, shard: 1, other: 2, step: 'switching' });
      expect(await applyPlacement(client, nodes)).toEqual([]);
      await client.command({
        query: `CREATE OR REPLACE TABLE names AS names ENGINE = Distributed(${nodes.cluster}, currentDatabase(), names_local, workspace_id)`,
      });
      const owners = async () => Number(await one('SELECT uniqExact(owner) FROM schema_migration_leases'));
      const before = await owners();
      const start = applyPlacement(client, nodes);
      await Promise.race([start, waitFor(async () => (await owners()) > before, { what: 'the start to wait' })]);
      await writePlacement(client, target, { logical: 5, shard: 3, other: 0, step: '' });
      await lease.release();
      expect(await start).toContain('names');
      expect(await isPlacementApplied(client, nodes)).toBe(true);
      await writePlacement(client, target, { logical: 5, shard: 2, other: 0, step: '' });
      await applyPlacement(client, nodes);
    });

    test('a logical shard moves to the added one with its names, and every node reads it there', async () => {
      await client.command({
        query: `INSERT INTO names (kind, scope, name, id, workspace_id, version, deleted)
        SELECT 'link', 'go.acme.com', toString(number), number, 1, 1, 0 FROM numbers(1000)`,
      });
      const report = await moveShard(client, { cluster: nodes.cluster, logical: 1, to: 3 });
      expect(report).toMatchObject({
        logical: 1,
        from: 2,
        to: 3,
        rows: { click_events: 2, link_totals: 2, workspace_slots: 2 },
      });
      expect(report.rows.names).toBeGreaterThan(0);
      const settings = { force_optimize_skip_unused_shards: 2 };
      for (const node of nodeClients) {
        const query = 'SELECT count() FROM click_events WHERE workspace_id = 841';
        expect(await node.rows({ query, settings })).toEqual([['1']]);
      }
      const all = await client.rows({ query: 'SELECT name FROM names ORDER BY name' });
      expect(all.length).toBe(1000);
      expect(await Promise.all(nodeClients.map((node) => one('SELECT count() FROM click_events_local', node)))).toEqual(
        ['840', '838', '2'],
      );
    });
  });
});

test('what workspaces should not have any more is deleted on every shard, by one mutation of a table', async () => {
  // Of shards 1, 2 and 3.
  const workspaces = ['840', '843', '841'];
  const rules = workspaces.map((workspace) => ({ workspace, eventDays: 40 }));
  await client.command({
    query: `INSERT INTO click_events (workspace_id, timestamp, click_id, link_id)
      SELECT arrayJoin([${workspaces}]), now64(3) - INTERVAL arrayJoin([1, 60]) DAY, toString(rand()), 5`,
  });
  const onShards = (condition: string) => {
    const count = `SELECT count() FROM click_events_local WHERE workspace_id IN (${workspaces}) AND ${condition}`;
    return Promise.all(nodeClients.map((node) => one(count, node)));
  };
  const isOld = 'timestamp < now() - INTERVAL 50 DAY';
  expect(await onShards(isOld)).toEqual(['1', '1', '1']);
  const options = { cluster: nodes.cluster, nowMs: Date.now() };
  const tables = ['click_events', 'workspace_slots', 'link_days'];
  // Each alone, because the test cluster cannot aggregate over several shards.
  const expired = await Promise.all(rules.map((rule) => countExpired(client, [rule], options)));
  for (const [index, workspace] of workspaces.entries()) {
    const counts = tables.map((table) => ({ workspace, table, rows: 1, addresses: 0 }));
    expect(expired[index]).toEqual({ counts, uncounted: [], failed: [] });
  }
  const all = { counts: expired.flatMap(({ counts }) => counts), uncounted: [] };
  expect(await deleteExpired(client, rules, all, options)).toEqual({ changed: tables, waiting: [], failed: [] });
  const started = `SELECT table, count() FROM system.mutations
    WHERE database = currentDatabase() AND command LIKE '%DELETE WHERE%workspace_id IN%' GROUP BY table ORDER BY table`;
  for (const node of nodeClients) {
    const once = [...tables].sort().map((table) => [`${table}_local`, '1']);
    expect(await node.rows({ query: started })).toEqual(once);
  }
  await waitFor(async () => (await onShards(isOld)).join() === '0,0,0', { what: 'the mutations' });
  expect(await onShards('link_id = 5')).toEqual(['2', '2', '2']);
});

test('addresses expire where events are kept for ever, and no more when the setting is removed, also in a repetition of half of that', async () => {
  const { cluster } = nodes;
  const rewritten = () =>
    onEveryNode(
      `SELECT count() FROM system.tables WHERE database = currentDatabase() AND name IN ('click_events_local', 'lead_events_local', 'sale_events_local')
        AND create_table_query LIKE '%toIntervalDay(30)%ttl_only_drop_parts = 0%' AND engine_full NOT LIKE '% TTL %'`,
    );
  await applyRetention(client, { cluster, addressDays: 30 });
  expect(await rewritten()).toBe('3');
  expect(await applyRetention(client, { cluster, addressDays: 30 })).toEqual([]);
  await applyRetention(client, { cluster, addressDays: 30, eventDays: 400 });
  const command = client.command.bind(client);
  const killed = vi.spyOn(client, 'command').mockImplementation(async (statement) => {
    await command(statement);
    throw new Error('killed');
  });
  await expect(applyRetention(client, { cluster })).rejects.toThrow('killed');
  killed.mockRestore();
  await applyRetention(client, { cluster });
  expect(await rewritten()).toBe('0');
  expect(await applyRetention(client, { cluster })).toEqual([]);
});

test('each start completes what only some of the shards have executed, through whichever server it starts', async () => {
  const { cluster } = nodes;
  const [first, second, third] = nodeClients as [ClickHouseClient, ClickHouseClient, ClickHouseClient];
  const expiring = () =>
    Promise.all(
      nodeClients.map((node) =>
        one(
          "SELECT countIf(create_table_query LIKE '%toIntervalDay(%') FROM system.tables WHERE database = currentDatabase() AND match(name, '^(click_events|lead_events|sale_events|workspace_slots|link_days|click_aliases)_local$')",
          node,
        ),
      ),
    );
  const alter = (node: ClickHouseClient, change: string) =>
    node.command({ query: `ALTER TABLE click_events_local ${change}` });
  await applyRetention(client, { cluster, addressDays: 30, eventDays: 400 });
  expect(await expiring()).toEqual(['6', '6', '6']);
  await alter(first, 'REMOVE TTL');
  await alter(first, 'MODIFY COLUMN ip REMOVE TTL');
  await alter(second, 'REMOVE TTL');
  await alter(third, 'MODIFY COLUMN ip REMOVE TTL');
  await applyRetention(client, { cluster });
  expect(await expiring()).toEqual(['0', '0', '0']);
  expect(await applyRetention(client, { cluster })).toEqual([]);
});

test('expired events are dropped by the month with what was counted of them, and rewritten for addresses only', async () => {
  const expiry = (table: string) =>
    onEveryNode(
      `SELECT extract(create_table_query, 'TTL (.*) SETTINGS') FROM system.tables WHERE database = currentDatabase() AND name = '${table}_local'`,
    );
  const dropsParts = () =>
    onEveryNode(
      "SELECT create_table_query LIKE '%ttl_only_drop_parts = 1%' FROM system.tables WHERE database = currentDatabase() AND name = 'click_events_local'",
    );
  await applyRetention(client, { cluster: nodes.cluster, eventDays: 400 });
  expect(await expiry('click_events')).toBe(
    '(toDateTime(toStartOfMonth(timestamp)) + toIntervalMonth(1)) + toIntervalDay(400)',
  );
  expect(await expiry('link_days')).toBe('(toDateTime(toStartOfMonth(day)) + toIntervalMonth(1)) + toIntervalDay(400)');
  expect(await dropsParts()).toBe(1);
  expect(await applyRetention(client, { cluster: nodes.cluster, eventDays: 400 })).toEqual([]);
  const withAddresses = { cluster: nodes.cluster, eventDays: 400, addressDays: 30 };
  const command = client.command.bind(client);
  let sent = 0;
  const failing = vi
    .spyOn(client, 'command')
    .mockImplementation((statement) => (++sent === 2 ? Promise.reject(new Error('away')) : command(statement)));
  await expect(applyRetention(client, withAddresses)).rejects.toThrow('away');
  failing.mockRestore();
  // The next start completes it.
  await applyRetention(client, withAddresses);
  expect(await dropsParts()).toBe(0);
  expect(await applyPlacement(client, nodes)).toEqual([]);
});
