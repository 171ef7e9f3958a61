import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { startTestCluster, type TestCluster, temporaryDirectory } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { addServers, type ClickHouseClient, createClickHouseClient, migrate } from '../../src/index.js';

/** Two shards of two replicas. */
let nodes: TestCluster;
let client: ClickHouseClient;
const nodeClients: ClickHouseClient[] = [];
let directory: string;

const addMigration = (file: string, number: number) =>
  cpSync(
    join(import.meta.dirname, '../../../../clickhouse/migrations', `${file}.sql`),
    join(directory, `000${number}_${file.slice(5)}.sql`),
  );
const migrated = () => migrate(client, { cluster: nodes.cluster, directory });

beforeAll(async () => {
  nodes = await startTestCluster({ shards: 2, replicas: 2 });
  for (const database of nodes.databases) nodeClients.push(createClickHouseClient({ url: nodes.url, database }));
  client = nodeClients[0] as ClickHouseClient;
  directory = temporaryDirectory('waymark-migrations-');
  addMigration('0001_click_events', 1);
  await migrated();
});
afterAll(async () => {
  rmSync(directory, { recursive: true });
  await Promise.all(nodeClients.map((node) => node.close()));
  await nodes.stop();
});

/** The paths in Keeper of a table on the four servers. */
const pathsOf = (table: string) =>
  Promise.all(
    nodeClients.map(async (node) => {
      const [row] = await node.rows<[string]>({
        query: `SELECT zookeeper_path FROM system.replicas WHERE table = '${table}_local'`,
      });
      return row?.[0];
    }),
  );

/** Replaces a server by an empty one. */
async function empty(index: number): Promise<void> {
  await client.command({ query: `DROP DATABASE ${nodes.databases[index]}` });
  await client.command({ query: `CREATE DATABASE ${nodes.databases[index]}` });
}

test('a server that is added to a shard has replicas of the tables of this shard', async () => {
  const before = await pathsOf('click_events');
  expect(before).toEqual([before[0], before[0], before[2], before[2]]);
  expect(new Set(before).size).toBe(2);
  await empty(1);
  await empty(3);
  expect(await addServers(client, nodes)).toEqual([
    expect.stringMatching(/^shard 1, replica 2 /),
    expect.stringMatching(/^shard 2, replica 2 /),
  ]);
  expect(await pathsOf('click_events')).toEqual(before);
});

test('also where this shard was added later, by tables with paths of their own', async () => {
  const elsewhere = "replaceRegexpOne(zookeeper_path, '[^/]+/2$', 'added-later/2')";
  for (const node of nodeClients.slice(2))
    await node.command({ query: `ALTER TABLE test_replicas UPDATE zookeeper_path = ${elsewhere} WHERE 1` });
  const before = await pathsOf('click_events');
  expect(before[2]).toBe('/clickhouse/tables/added-later/2');
  await empty(3);
  await addServers(client, nodes);
  expect(await pathsOf('click_events')).toEqual(before);
});

test('a migration that is repeated because one server has failed does not go on with a table of its own there', async () => {
  addMigration('0008_workspaces', 2);
  const command = client.command.bind(client);
  const failing = vi.spyOn(client, 'command').mockImplementation(async (statement) => {
    if (/CREATE TABLE IF NOT EXISTS workspaces_local/.test(statement.query))
      await command({ query: `DROP DATABASE ${nodes.databases[3]}` });
    return command(statement);
  });
  await expect(migrated()).rejects.toThrow(/^migration 0002_workspaces.sql failed: /);
  failing.mockRestore();
  await addServers(client, nodes);
  expect(await pathsOf('workspaces')).toEqual(expect.not.arrayContaining([undefined]));
  await nodeClients[3]?.command({ query: 'DROP TABLE workspaces_local' });

  const refused = 'servers have tables of their own in place of replicas';
  await expect(migrated()).rejects.toThrow(refused);
  await expect(migrated()).rejects.toThrow(
    `${refused} (docs/runbooks/adding-a-replica.md): workspaces_local of shard 2`,
  );
  await expect(addServers(client, nodes)).rejects.toThrow(refused);
  await nodeClients[3]?.command({ query: 'DROP TABLE workspaces_local' });
  await addServers(client, nodes);
  expect((await migrated()).applied).toEqual(['0002_workspaces.sql']);
});
