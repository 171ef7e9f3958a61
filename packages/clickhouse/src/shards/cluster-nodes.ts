import { type ClickHouseClient, createClickHouseClient, optionsOf } from '../client.js';

/** A server of a cluster. */
export interface ShardNode {
  /** From 1, as in `system.clusters`. */
  readonly shard: number;
  readonly name: string;
  readonly client: ClickHouseClient;
}

/** Copies and deletions of a shard take as long as they take. */
const REQUEST_TIMEOUT_MS = 24 * 3_600_000;

/**
 * Connects to each server of a cluster: at its host name in `remote_servers`, and at the scheme, port and user of the client's URL.
 * The caller closes the clients.
 */
export async function connectNodes(client: ClickHouseClient, cluster: string): Promise<ShardNode[]> {
  const options = optionsOf(client);
  const rows = await client.rows<[shard: number, host: string, replica: number, database: string]>({
    query: `SELECT shard_num, host_name, replica_num, default_database FROM system.clusters
      WHERE cluster = {cluster:String} ORDER BY shard_num, replica_num`,
    parameters: { cluster },
  });
  return rows.map(([shard, host, replica, database]) => {
    const url = new URL(options.url);
    url.hostname = host;
    return {
      shard,
      name: `shard ${shard}, replica ${replica} (${url.host})`,
      client: createClickHouseClient({
        ...options,
        url: url.href,
        database: database || options.database,
        requestTimeoutMs: REQUEST_TIMEOUT_MS,
        isCompressed: false,
      }),
    };
  });
}
