import type { ClickHouseClient } from '../client.js';
import { bookkeepingTables } from '../migrations/bookkeeping.js';
import { createDatabase, isUnknownDatabase } from '../migrations/database.js';
import { REPLICA_PATH } from '../migrations/render.js';
import { takeSchemaLease } from '../migrations/schema-lease.js';
import { quoteIdentifier } from '../quote-identifier.js';
import { connectNodes, type ShardNode } from './cluster-nodes.js';

/** The order in which tables and views are created, by the end of the engine's name: each refers to earlier ones. */
const ORDER = ['MergeTree', 'Distributed', 'View'];
const orderOf = (engine: string) => ORDER.findIndex((end) => engine.endsWith(end));

/** Turns the definition of a table or view into a statement that creates it on every server of the cluster that does not have it. */
function definitionOnCluster(definition: string, cluster: string): string {
  return definition
    .replace(
      /^(CREATE (?:TABLE|VIEW|MATERIALIZED VIEW)) (?:\S+?\.)?(\S+)/,
      `$1 IF NOT EXISTS $2 ON CLUSTER ${quoteIdentifier(cluster)}`,
    )
    .replace(/(ENGINE = Replicated\w+\()'[^']*', '[^']*'/, `$1${REPLICA_PATH}`);
}

/** The number of `Distributed` tables that a server has; 0 also without a database. */
async function countTables({ client }: ShardNode): Promise<number> {
  try {
    const [row] = await client.rows<[string]>({
      query: `SELECT count() FROM system.tables WHERE database = currentDatabase() AND engine = 'Distributed'`,
    });
    return Number(row?.[0] ?? 0);
  } catch (err) {
    if (isUnknownDatabase(err)) return 0;
    throw err;
  }
}

/**
 * Creates the tables and views of a cluster on servers that were added to it (docs/runbooks/adding-a-shard.md), with the present
 * definitions of the other servers. Running the migrations instead would repeat old changes of columns on the other servers. A new shard
 * gets no rows until logical shards are moved to it. May be repeated. The definitions are those of the server with the most tables, because
 * the given client may be connected to a new one.
 *
 * @returns the names of the servers that had no tables
 * @throws Error when no server has tables
 */
export async function addServers(
  client: ClickHouseClient,
  { cluster }: { readonly cluster: string },
): Promise<string[]> {
  const nodes = await connectNodes(client, cluster);
  try {
    const counts = await Promise.all(nodes.map(countTables));
    const most = Math.max(0, ...counts);
    const source = nodes[counts.indexOf(most)];
    if (source === undefined || most === 0)
      throw new Error(`no server of the cluster ${cluster} has the tables: run \`npx waymark migrate up\``);
    await createTables(source.client, cluster);
    return nodes.flatMap(({ name }, index) => (counts[index] === 0 ? [name] : []));
  } finally {
    await Promise.all(nodes.map((node) => node.client.close()));
  }
}

/** Creates the tables and views of a server on all servers of its cluster that do not have them. */
async function createTables(client: ClickHouseClient, cluster: string): Promise<void> {
  const lease = await takeSchemaLease(client, { cluster });
  try {
    await createDatabase(client, { cluster });
    for (const query of bookkeepingTables({ cluster })) await client.command({ query });
    const tables = await client.rows<[name: string, engine: string, definition: string]>({
      query: `SELECT name, engine, create_table_query FROM system.tables
        WHERE database = currentDatabase() AND NOT startsWith(name, 'schema_') AND engine NOT LIKE 'Memory'`,
    });
    tables.sort(([, one], [, other]) => orderOf(one) - orderOf(other));
    for (const [, , definition] of tables) {
      lease.assertHeld();
      await client.command({ query: definitionOnCluster(definition, cluster) });
    }
  } finally {
    await lease.release();
  }
}
