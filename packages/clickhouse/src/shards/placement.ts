/**
 * Number of logical shards, fixed for ever: a workspace belongs to one of them. Divisible by every number of servers up to 8, and by
 * 10 and 12, so that clusters whose rows lie by workspace modulo shards can go on as they are.
 */
export const LOGICAL_SHARDS = 840;

/** On which shard of the cluster (from 1, as in `system.clusters`) the rows of each logical shard are. */
export type Placement = readonly number[];

/** The first placement of a cluster: what workspace modulo shards gives, if {@link canContinue}. */
export function firstPlacement(shards: number): Placement {
  return Array.from({ length: LOGICAL_SHARDS }, (_, logical) => (logical % shards) + 1);
}

/** Whether the first placement leaves rows where workspace modulo shards has put them. */
export function canContinue(shards: number): boolean {
  return LOGICAL_SHARDS % shards === 0;
}

/** The logical shard of a workspace. */
export function logicalShard(workspaceId: bigint): number {
  return Number(workspaceId % BigInt(LOGICAL_SHARDS));
}

/** What rows are sharded by, where it is not the workspace: names are looked up without one, measurements have none. */
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
 * The sharding key of a `Distributed` table, as servers print it: the number of the shard, from 0. All shards have the weight 1, so
 * another shard at the end of the cluster changes nothing.
 */
export function shardingKey(table: string, placement: Placement): string {
  const slots = placement.map((shard) => shard - 1).join(', ');
  return `arrayElement([${slots}], (${keyOf(table)} % ${LOGICAL_SHARDS}) + 1)`;
}
