/** Settings of ClickHouse that belong to a statement. */
export type QuerySettings = Readonly<Record<string, string | number>>;

/**
 * What a read may cost, and how it runs on a cluster: all rows of a workspace are on one shard, so sub-queries read the
 * tables of the shard they run on.
 */
export const READ_LIMITS = {
  max_execution_time: 20,
  max_memory_usage: 1_000_000_000,
  max_threads: 2,
  distributed_product_mode: 'local',
  optimize_skip_unused_shards: 1,
} as const satisfies QuerySettings;
