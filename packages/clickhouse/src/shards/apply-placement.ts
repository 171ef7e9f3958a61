import type { ClickHouseClient } from '../client.js';
import type { RenderTarget } from '../migrations/render.js';
import { takeSchemaLease } from '../migrations/schema-lease.js';
import { quoteIdentifier } from '../quote-identifier.js';
import { type Placement, shardingKey } from './placement.js';
import { readPlacement, writeFirstPlacement } from './placement-store.js';

/** The names of the `Distributed` tables whose rows are spread over the shards. Those of views (`report_…`) have no rows of their own. */
export async function shardedTables(client: ClickHouseClient): Promise<string[]> {
  const rows = await client.rows<[string]>({
    query: `SELECT name FROM system.tables WHERE database = currentDatabase() AND engine = 'Distributed'
      AND concat(name, '_local') NOT IN (SELECT name FROM system.tables WHERE database = currentDatabase() AND engine = 'View')
      ORDER BY name`,
  });
  return rows.map(([name]) => name);
}

type DistributedTable = readonly [name: string, engine: string];

async function distributedTables(client: ClickHouseClient): Promise<DistributedTable[]> {
  return client.rows<[name: string, engine: string]>({
    query:
      "SELECT name, engine_full FROM system.tables WHERE database = currentDatabase() AND engine = 'Distributed' ORDER BY name",
  });
}

const follows = ([name, engine]: DistributedTable, placement: Placement) =>
  engine.endsWith(`, ${shardingKey(name, placement)})`);

/** The names of those `Distributed` tables of a server whose sharding key does not follow the placement. */
export async function tablesPlacedOtherwise(client: ClickHouseClient, placement: Placement): Promise<string[]> {
  const tables = await distributedTables(client);
  return tables.filter((table) => !follows(table, placement)).map(([name]) => name);
}

/** What {@link placeTables} does. */
interface TablePlacement {
  readonly cluster: string;
  readonly placement: Placement;
  /** The servers whose tables are compared with the placement. */
  readonly servers: readonly ClickHouseClient[];
  /** Throws when the caller has lost the lease on the schema, as the placement may have changed then. */
  readonly assertHeld: () => void;
}

/**
 * Replaces the `Distributed` tables that do not follow the placement on all servers of the cluster, so that they send rows and reads to the
 * shards of the placement.
 *
 * @returns the names of the replaced tables
 */
export async function placeTables(
  client: ClickHouseClient,
  { cluster, placement, servers, assertHeld }: TablePlacement,
): Promise<string[]> {
  const found = await Promise.all(servers.map((server) => tablesPlacedOtherwise(server, placement)));
  const tables = [...new Set(found.flat())];
  const on = quoteIdentifier(cluster);
  for (const table of tables) {
    assertHeld();
    const engine = `Distributed(${on}, currentDatabase(), ${table}_local, ${shardingKey(table, placement)})`;
    await client.command({ query: `CREATE OR REPLACE TABLE ${table} ON CLUSTER ${on} AS ${table} ENGINE = ${engine}` });
  }
  return tables;
}

/** Whether any shard has a workspace, and thus rows that must stay where they are. */
async function hasRows(client: ClickHouseClient): Promise<boolean> {
  const rows = await client.rows<[string]>({
    query: 'SELECT workspace_id FROM workspaces LIMIT 1',
    settings: { distributed_group_by_no_merge: 1 },
  });
  return rows.length > 0;
}

/**
 * Stores the first placement of a cluster if it has none, and makes its tables follow the stored placement. Idempotent, so that it can run
 * at every start, after the migrations. On one server it does nothing.
 *
 * Where a table is to be replaced, it holds the lease on the schema, because a move changes the placement and the tables: like a migration, it
 * waits until the logical shard that is moving is done. A start with nothing to do needs no lease, so that it does not wait for hours.
 *
 * @returns the names of the tables that were changed
 */
export async function applyPlacement(client: ClickHouseClient, { cluster }: RenderTarget): Promise<readonly string[]> {
  if (cluster === undefined || (await isPlacementApplied(client, { cluster }))) return [];
  const lease = await takeSchemaLease(client, { cluster });
  try {
    if ((await readPlacement(client, { cluster })) === undefined) {
      await writeFirstPlacement(client, { cluster }, await hasRows(client));
    }
    const stored = await readPlacement(client, { cluster });
    if (stored === undefined) return [];
    const assertHeld = () => lease.assertHeld();
    return await placeTables(client, { cluster, placement: stored.shards, servers: [client], assertHeld });
  } finally {
    await lease.release();
  }
}

/**
 * Whether the tables of a cluster follow its placement. Until {@link applyPlacement} has run after the migrations, new tables have another
 * one, so that rows would go to shards on which reads do not look for them. On one server it is always true.
 *
 * During a move of a logical shard, also one that was interrupted, tables may follow either of its two shards: the move keeps rows and reads
 * together (`moveShard`).
 */
export async function isPlacementApplied(client: ClickHouseClient, { cluster }: RenderTarget): Promise<boolean> {
  if (cluster === undefined) return true;
  // Read before the placement: a move that begins in between is then in the placement, so that either of its shards is accepted.
  const tables = await distributedTables(client);
  const stored = await readPlacement(client, { cluster });
  if (stored === undefined) return false;
  const { shards, move } = stored;
  const accepted =
    move === undefined ? [shards] : [move.from, move.to].map((shard) => shards.with(move.logical, shard));
  return tables.every((table) => accepted.some((placement) => follows(table, placement)));
}
