import type { ClickHouseClient } from '../client.js';
import { readPlacement, type UnfinishedMove } from './placement-store.js';

/** A shard of a cluster. */
export interface ShardSummary {
  readonly shard: number;
  readonly servers: readonly string[];
  /** Numbers of the logical shards that are placed on it. */
  readonly logical: readonly number[];
}

/** The shards of a cluster, and the move that is not finished, if any. */
export interface ShardList {
  readonly shards: readonly ShardSummary[];
  readonly move: UnfinishedMove | undefined;
}

/** Reads the shards of a cluster and the logical shards on each. Changes nothing. */
export async function listShards(
  client: ClickHouseClient,
  { cluster }: { readonly cluster: string },
): Promise<ShardList> {
  const servers = await client.rows<[shard: number, hosts: string[]]>({
    query: `SELECT shard_num, groupArray(concat(host_name, ':', toString(port))) FROM system.clusters
      WHERE cluster = {cluster:String} GROUP BY shard_num ORDER BY shard_num`,
    parameters: { cluster },
  });
  const stored = await readPlacement(client, { cluster });
  const logicalOf = (shard: number) => (stored?.shards ?? []).flatMap((at, logical) => (at === shard ? [logical] : []));
  return {
    shards: servers.map(([shard, hosts]) => ({ shard, servers: hosts, logical: logicalOf(shard) })),
    move: stored?.move,
  };
}
