import { groupBy } from '@waymark/contract';
import { type ClickHouseClient, optionsOf } from '../client.js';
import { quoteIdentifier } from '../quote-identifier.js';

/**
 * Checks that the servers of each shard have replicas of the same tables. Otherwise nothing is transferred between them: reads lack what only
 * the other ones have, and a row is on one server only. A table gets its path in Keeper when a statement creates it; the same statement, sent
 * once more because it has failed on one server, makes a table with another path there. Servers that are away are left out.
 *
 * @throws Error that names the tables
 */
export async function assertReplicated(
  client: ClickHouseClient,
  { cluster }: { readonly cluster: string },
): Promise<void> {
  const replicas = await client.rows<[table: string, path: string]>({
    query: `SELECT table, zookeeper_path FROM clusterAllReplicas(${quoteIdentifier(cluster)}, system.replicas) WHERE database = {database:String}`,
    parameters: { database: optionsOf(client).database },
    settings: { skip_unavailable_shards: 1 },
  });
  // A path ends with the number of the shard.
  const shards = groupBy(replicas, ([table, path]) => `${table} of shard ${path.slice(path.lastIndexOf('/') + 1)}`);
  const parted = [...shards].filter(([, paths]) => new Set(paths.map(([, path]) => path)).size > 1);
  if (parted.length === 0) return;
  throw new Error(
    `servers have tables of their own in place of replicas (docs/runbooks/adding-a-replica.md): ${parted
      .map(([name]) => name)
      .sort()
      .join(', ')}`,
  );
}
