import type { ClickHouseClient } from '../client.js';
import { bookkeepingTables } from '../migrations/bookkeeping.js';
import { createDatabase, isUnknownDatabase } from '../migrations/database.js';
import { takeSchemaLease } from '../migrations/schema-lease.js';
import { connectNodes, type ShardNode } from './cluster-nodes.js';
import { assertReplicated } from './replica-paths.js';

/** The order in which tables and views are created, by the end of the engine's name: each refers to earlier ones. */
const ORDER = ['MergeTree', 'Distributed', 'View'];
const orderOf = ({ engine }: ServerTable) => ORDER.findIndex((end) => engine.endsWith(end));

/** A table or view of a server. */
interface ServerTable {
  readonly name: string;
  readonly engine: string;
  readonly definition: string;
  /** The path in Keeper that its replicas share; empty for what is not replicated. */
  readonly path: string;
}

/** A server with its tables and views, by name. */
interface ServerTables {
  readonly node: ShardNode;
  readonly tables: ReadonlyMap<string, ServerTable>;
}

/** Reads the tables and views of a server that {@link createMissing} creates; none without a database. */
async function readTables(node: ShardNode): Promise<ServerTables> {
  try {
    const replicas = await node.client.rows<[table: string, path: string]>({
      query: 'SELECT table, zookeeper_path FROM system.replicas WHERE database = currentDatabase()',
    });
    const paths = new Map(replicas);
    const rows = await node.client.rows<[name: string, engine: string, definition: string]>({
      query: `SELECT name, engine, create_table_query FROM system.tables
        WHERE database = currentDatabase() AND NOT startsWith(name, 'schema_') AND engine NOT LIKE 'Memory'`,
    });
    const tables = rows.map(([name, engine, definition]) => ({
      name,
      engine,
      definition,
      path: paths.get(name) ?? '',
    }));
    return { node, tables: new Map(tables.map((table) => [table.name, table])) };
  } catch (err) {
    if (isUnknownDatabase(err)) return { node, tables: new Map() };
    throw err;
  }
}

/**
 * Turns the definition of a table or view into a statement that creates it on another server. There, a replicated table gets the same path in
 * Keeper, so that it is a replica of the same table in its shard, and another table in another one. The macro `{uuid}` in a definition would be a new one.
 */
function definitionElsewhere({ definition, path }: ServerTable): string {
  const shared = path.replace(/[^/]*$/, '{shard}');
  return definition
    .replace(/^(CREATE (?:TABLE|VIEW|MATERIALIZED VIEW)) (?:\S+?\.)?(\S+)/, '$1 IF NOT EXISTS $2')
    .replace(/(ENGINE = Replicated\w+\()'[^']*', '[^']*'/, `$1'${shared}', '{replica}'`);
}

/**
 * Creates the tables and views of a cluster on servers that were added to it (docs/runbooks/adding-a-shard.md, adding-a-replica.md), with the
 * present definitions of the other servers. Running the migrations instead would repeat old changes of columns on the other servers. A new
 * shard gets no rows until logical shards are moved to it. May be repeated. The definitions are those of a server of the same shard, or else of
 * the server with the most tables, because the given client may be connected to a new one.
 *
 * @returns the names of the servers that had no tables
 * @throws Error when no server has tables, or when servers of one shard have tables that are no replicas of each other
 */
export async function addServers(
  client: ClickHouseClient,
  { cluster }: { readonly cluster: string },
): Promise<string[]> {
  const nodes = await connectNodes(client, cluster);
  try {
    const before = await Promise.all(nodes.map(readTables));
    if (before.every(({ tables }) => tables.size === 0))
      throw new Error(`no server of the cluster ${cluster} has the tables: run \`npx waymark migrate up\``);
    await createMissing(client, cluster, nodes);
    await assertReplicated(client, { cluster });
    return before.filter(({ tables }) => tables.size === 0).map(({ node }) => node.name);
  } finally {
    await Promise.all(nodes.map((node) => node.client.close()));
  }
}

/** Creates on each server the tables and views that it lacks. */
async function createMissing(client: ClickHouseClient, cluster: string, nodes: readonly ShardNode[]): Promise<void> {
  const lease = await takeSchemaLease(client, { cluster });
  try {
    await createDatabase(client, { cluster });
    for (const query of bookkeepingTables({ cluster })) await client.command({ query });
    const servers = await Promise.all(nodes.map(readTables));
    const [complete] = servers.toSorted((one, other) => other.tables.size - one.tables.size);
    const wanted = [...(complete?.tables.values() ?? [])].sort((one, other) => orderOf(one) - orderOf(other));
    for (const { node, tables } of servers) {
      const ofShard = servers.filter((server) => server.node.shard === node.shard);
      for (const table of wanted.filter(({ name }) => !tables.has(name))) {
        lease.assertHeld();
        const known = ofShard.find((server) => server.tables.has(table.name))?.tables.get(table.name) ?? table;
        await node.client.command({ query: definitionElsewhere(known) });
      }
    }
  } finally {
    await lease.release();
  }
}
