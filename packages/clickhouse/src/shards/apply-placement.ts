import type { ClickHouseClient } from '../client.js';
import { quoteIdentifier } from '../quote-identifier.js';
import { type Placement, shardingKey } from './placement.js';
import { readPlacement, writeFirstPlacement } from './placement-store.js';

export interface PlacementTarget {
  readonly cluster?: string | undefined;
}

async function distributedTables(client: ClickHouseClient): Promise<[name: string, engine: string][]> {
  return client.rows({
    query:
      "SELECT name, engine_full FROM system.tables WHERE database = currentDatabase() AND engine = 'Distributed' ORDER BY name",
  });
}

/** The tables that are spread over the shards. */
export async function shardedTables(client: ClickHouseClient): Promise<string[]> {
  return (await distributedTables(client)).map(([name]) => name);
}

/** The `Distributed` tables of a server whose sharding key is another than that of the placement. */
export async function tablesPlacedOtherwise(client: ClickHouseClient, placement: Placement): Promise<string[]> {
  const tables = await distributedTables(client);
  return tables
    .filter(([name, engine]) => !engine.endsWith(`, ${shardingKey(name, placement)})`))
    .map(([name]) => name);
}

/**
 * Makes the `Distributed` tables of all servers send rows and reads to where the placement says.
 *
 * @param servers are asked which tables they place otherwise
 * @returns the tables that were changed
 */
export async function placeTables(
  client: ClickHouseClient,
  cluster: string,
  placement: Placement,
  servers: readonly ClickHouseClient[] = [client],
): Promise<string[]> {
  const found = await Promise.all(servers.map((server) => tablesPlacedOtherwise(server, placement)));
  const tables = [...new Set(found.flat())];
  const on = quoteIdentifier(cluster);
  for (const table of tables) {
    const engine = `Distributed(${on}, currentDatabase(), ${table}_local, ${shardingKey(table, placement)})`;
    await client.command({ query: `CREATE OR REPLACE TABLE ${table} ON CLUSTER ${on} AS ${table} ENGINE = ${engine}` });
  }
  return tables;
}

/** Whether a table has rows, on any shard. */
async function hasRows(client: ClickHouseClient): Promise<boolean> {
  const rows = await client.rows<[string]>({
    query: 'SELECT workspace_id FROM workspaces LIMIT 1',
    settings: { distributed_group_by_no_merge: 1 },
  });
  return rows.length > 0;
}

/**
 * Stores the first placement of a cluster, and makes its tables follow the stored one. Idempotent, so that it can run at every start,
 * after the migrations. On one server it does nothing.
 *
 * @returns the tables that were changed
 */
export async function applyPlacement(
  client: ClickHouseClient,
  { cluster }: PlacementTarget,
): Promise<readonly string[]> {
  if (cluster === undefined) return [];
  if ((await readPlacement(client, { cluster })) === undefined) {
    await writeFirstPlacement(client, { cluster }, await hasRows(client));
  }
  const stored = await readPlacement(client, { cluster });
  return stored === undefined ? [] : placeTables(client, cluster, stored.shards);
}
