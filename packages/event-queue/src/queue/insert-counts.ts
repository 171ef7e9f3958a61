import type { Redis } from 'ioredis';
import { INSERT_COUNT_KEY } from './keys.js';

/**
 * Number of later inserts after which ClickHouse may have dropped a deduplication token. It keeps the tokens of the last 10,000 blocks of a
 * table, and an insert adds up to three blocks to a table: on a cluster, tables are partitioned by month, and the events of the last thirty days
 * lie in three months at the beginning of March.
 */
export const REPEATABLE_INSERTS = 3000;

/**
 * Reads how many inserts the writers of each queue shard have started.
 *
 * @param queueShards the Redis of each queue shard
 * @throws the error of Redis or the connection
 */
export const countInserts = (queueShards: readonly Redis[]): Promise<number[]> =>
  Promise.all(queueShards.map(async (shard) => Number((await shard.get(INSERT_COUNT_KEY)) ?? 0)));

/**
 * Whether ClickHouse certainly still has the deduplication tokens of the inserts that were made since a count.
 *
 * @param before an earlier result of `countInserts`
 * @throws the error of Redis or the connection
 */
export async function areTokensKept(queueShards: readonly Redis[], before: readonly number[]): Promise<boolean> {
  const counts = await countInserts(queueShards);
  // Another number of shards, or a lower count, shows that a count is lost.
  if (counts.length !== before.length) return false;
  const added = counts.map((count, shard) => count - (before[shard] ?? 0));
  return added.every((inserts) => inserts >= 0) && added.reduce((sum, one) => sum + one, 0) < REPEATABLE_INSERTS;
}
