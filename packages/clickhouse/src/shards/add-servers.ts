import type { ClickHouseClient } from '../client.js';
import { bookkeepingTables } from '../migrations/bookkeeping.js';
import { createDatabase } from '../migrations/database.js';
import { REPLICA_PATH } from '../migrations/render.js';
import { takeSchemaLease } from '../migrations/schema-lease.js';
import { quoteIdentifier } from '../quote-identifier.js';
import { connectNodes } from './cluster-nodes.js';

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

/**
 * Creates the tables and views of a cluster on servers that were added to it (docs/runbooks/adding-a-shard.md), with the present
 * definitions of the other servers. Running the migrations instead would repeat old changes of columns on the other servers. A new shard
 * gets no rows until logical shards are moved to it. May be repeated.
 *
 * @returns the names of the servers that had no tables
 */
export async function addServers(
  client: ClickHouseClient,
  { cluster }: { readonly cluster: string },
): Promise<string[]> {
  const nodes = await connectNodes(client, cluster);
  const lease = await takeSchemaLease(client, { cluster });
  try {
    await createDatabase(client, { cluster });
    for (const query of bookkeepingTables({ cluster })) await client.command({ query });
    const count =
      'SELECT count() FROM system.tables WHERE database = currentDatabase() AND engine LIKE {engine:String}';
    const added: string[] = [];
    for (const node of nodes) {
      const [row] = await node.client.rows<[string]>({ query: count, parameters: { engine: 'Distributed' } });
      if (row?.[0] === '0') added.push(node.name);
    }
    const tables = await client.rows<[name: string, engine: string, definition: string]>({
      query: `SELECT name, engine, create_table_query FROM system.tables
        WHERE database = currentDatabase() AND NOT startsWith(name, 'schema_') AND engine NOT LIKE 'Memory'`,
    });
    tables.sort(([, one], [, other]) => orderOf(one) - orderOf(other));
    for (const [, , definition] of tables) {
      lease.assertHeld();
      await client.command({ query: definitionOnCluster(definition, cluster) });
    }
    return added;
  } finally {
    await Promise.all(nodes.map((node) => node.client.close()));
    await lease.release();
  }
}
