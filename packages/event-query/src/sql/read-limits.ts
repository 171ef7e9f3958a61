/** ClickHouse settings that are sent with a query. */
export type QuerySettings = Readonly<Record<string, string | number>>;

/**
 * Resource limits of a read for `/events` or `/analytics`, and how it runs on a cluster: all rows of a workspace are on one shard, so subqueries read the
 * local tables of the shard that they run on.
 */
export const READ_LIMITS = {
  max_execution_time: 20,
  max_memory_usage: 1_000_000_000,
  max_threads: 2,
  distributed_product_mode: 'local',
  optimize_skip_unused_shards: 1,
} as const satisfies QuerySettings;
