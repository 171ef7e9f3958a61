import { type ClickHouseClient, createClickHouseClient, optionsOf } from '../client.js';

/** A server of a cluster, with a client that is connected to it alone. */
export interface ShardNode {
  /** Number of its shard, from 1, as in `system.clusters`. */
  readonly shard: number;
  /** For messages, such as `shard 1, replica 2 (host:8123)`. */
  readonly name: string;
  readonly client: ClickHouseClient;
}

/** A day: in effect no limit, because copies and deletions may take hours. */
const REQUEST_TIMEOUT_MS = 24 * 3_600_000;

/**
 * Creates a client for each server of a cluster: with the server's host name of `remote_servers`, and the scheme, port and user of the
 * given client. The caller closes the clients.
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
