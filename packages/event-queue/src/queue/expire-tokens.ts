import type { Redis } from 'ioredis';
import { INSERT_COUNT_KEY } from './keys.js';

/** More inserts than those for which ClickHouse keeps deduplication tokens. */
const INSERTS = 10_000;

/**
 * Makes writers look up the rows of every insert that was begun before, instead of repeating it. For stores that were restored: ClickHouse
 * may have the rows of an insert whose batch is open in Redis, and never has its token.
 *
 * @param queue the Redis of a queue shard
 */
export async function expireTokens(queue: Redis): Promise<void> {
  await queue.incrby(INSERT_COUNT_KEY, INSERTS);
}
