import { type ClickHouseClient, type ClickHouseOptions, createClickHouseClient, optionsOf } from '../client.js';

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

/** A URL with another host: a name or an IP address as in `remote_servers`, where IPv6 has no brackets. */
export function urlAt(url: string, host: string): URL {
  const other = new URL(url);
  other.hostname = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  return other;
}

/** Reads the UUID of a server. Its database `system` exists also before that of the tables. */
async function serverId(options: ClickHouseOptions): Promise<string> {
  const client = createClickHouseClient({ ...options, database: 'system' });
  try {
    const [row] = await client.rows<[string]>({ query: 'SELECT toString(serverUUID())' });
    return String(row?.[0]);
  } finally {
    await client.close();
  }
}

/**
 * Creates a client for each server of a cluster: with the server's host of `remote_servers`, and the scheme, port and user of the given
 * client. The caller closes the clients.
 *
 * @throws Error when two of them reach the same database of the same server, as where servers differ in their ports only
 */
export async function connectNodes(client: ClickHouseClient, cluster: string): Promise<ShardNode[]> {
  const options = optionsOf(client);
  const rows = await client.rows<[shard: number, host: string, replica: number, database: string]>({
    query: `SELECT shard_num, host_name, replica_num, default_database FROM system.clusters
      WHERE cluster = {cluster:String} ORDER BY shard_num, replica_num`,
    parameters: { cluster },
  });
  const servers = rows.map(([shard, host, replica, database]) => {
    const url = urlAt(options.url, host);
    return {
      shard,
      name: `shard ${shard}, replica ${replica} (${url.host})`,
      options: {
        ...options,
        url: url.href,
        database: database || options.database,
        requestTimeoutMs: REQUEST_TIMEOUT_MS,
        isCompressed: false,
      },
    };
  });
  const reached = new Map<string, string>();
  for (const { name, options: ofServer } of servers) {
    const id = `${await serverId(ofServer)} ${ofServer.database}`;
    const other = reached.get(id);
    if (other !== undefined)
      throw new Error(
        `${other} and ${name} are the same server: each is connected to at its host in remote_servers, with the port of CLICKHOUSE_URL. Two servers with a copy of one data directory count as one until its file uuid is removed`,
      );
    reached.set(id, name);
  }
  return servers.map(({ options: ofServer, ...server }) => ({ ...server, client: createClickHouseClient(ofServer) }));
}
