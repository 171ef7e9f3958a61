/**
 * Number of logical shards, which must never change; each workspace belongs to one of them. It is divisible by every number up to 8, and by
 * 10 and 12. In a cluster with that many shards, rows that an earlier release distributed by `workspace_id % shards` stay where they are.
 */
export const LOGICAL_SHARDS = 840;

/** For each logical shard, the shard of the cluster that has its rows, counted from 1 as in `system.clusters`. */
export type Placement = readonly number[];

/** The first placement of a cluster. Where {@link canContinue} is true, it is the same as `workspace_id % shards`. */
export function firstPlacement(shards: number): Placement {
  return Array.from({ length: LOGICAL_SHARDS }, (_, logical) => (logical % shards) + 1);
}

/** Whether the first placement leaves all rows where `workspace_id % shards` has put them. */
export function canContinue(shards: number): boolean {
  return LOGICAL_SHARDS % shards === 0;
}

/** The logical shard of a workspace. */
export function logicalShard(workspaceId: bigint): number {
  return Number(workspaceId % BigInt(LOGICAL_SHARDS));
}

/**
 * The expressions by which tables are sharded, if not by workspace: names are looked up without a workspace, and measurements have none.
 */
const KEYS: Readonly<Record<string, string>> = {
  names: 'cityHash64(kind, scope, name)',
  ops_batches: 'cityHash64(time, instance)',
  ops_samples: 'cityHash64(time, instance, metric)',
  ops_requests: 'cityHash64(minute, service, route)',
};

function keyOf(table: string): string {
  return KEYS[table] ?? 'workspace_id';
}

/** The condition that selects the rows of a logical shard. */
export function isOfLogicalShard(table: string, logical: number): string {
  return `${keyOf(table)} % ${LOGICAL_SHARDS} = ${logical}`;
}

/**
 * The sharding key of a `Distributed` table, in the form in which servers print it. Its value is the number of the shard, from 0. All
 * shards have the weight 1, so another shard at the end of the cluster's definition changes nothing.
 */
export function shardingKey(table: string, placement: Placement): string {
  const slots = placement.map((shard) => shard - 1).join(', ');
  return `arrayElement([${slots}], (${keyOf(table)} % ${LOGICAL_SHARDS}) + 1)`;
}
