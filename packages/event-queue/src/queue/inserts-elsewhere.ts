import type { Redis } from 'ioredis';
import { withinMs } from '../redis/deadline.js';
import { INSERT_COUNT_KEY } from './keys.js';

/**
 * The inserts that writers of other queue shards have started. They go into the same tables, and ClickHouse keeps the deduplication tokens of
 * a table for a number of blocks, whichever shard they come from.
 */
export interface InsertsElsewhere {
  /** The count of each other shard as it was last read, which is at most its present one; 0 for a shard that was not read yet. */
  seen(): readonly number[];
  /**
   * Number of inserts since `before`; Infinity if a shard has lost its count. For a shard that does not answer, the last count read is used;
   * without `before`, the result is 0. Both become Infinity once `atMs` is more than a minute ago. Never rejects.
   *
   * @param before an earlier result of `seen`, perhaps of another process; undefined in manifests of releases that did not store it
   * @param atMs when that was, epoch milliseconds
   */
  since(before: readonly number[] | undefined, atMs: number): Promise<number>;
  /** Stops reading the counts. */
  close(): void;
}

const READ_EVERY_MS = 1000;
const ANSWER_WITHIN_MS = 1000;
/** In this time, the writers of all shards together start far fewer inserts than ClickHouse keeps tokens for. */
export const FEW_INSERTS_MS = 60_000;

/**
 * Reads the counts now and every second.
 *
 * @param shards the Redis of each other queue shard, in the order of their numbers; empty if there is one shard only
 * @param now epoch milliseconds
 */
export function createInsertsElsewhere(shards: readonly Redis[], now: () => number): InsertsElsewhere {
  const counts = shards.map(() => 0);

  async function read(shard: Redis, index: number): Promise<number> {
    const text = await withinMs(shard.get(INSERT_COUNT_KEY), ANSWER_WITHIN_MS, 'counting inserts');
    const count = Number(text ?? 0);
    counts[index] = count;
    return count;
  }

  // A count that could not be read stays as it was, and so is too low at most.
  const readAll = () => void Promise.allSettled(shards.map(read));
  readAll();
  const timer = shards.length === 0 ? undefined : setInterval(readAll, READ_EVERY_MS).unref();

  return {
    seen: () => [...counts],

    async since(before, atMs) {
      if (shards.length === 0) return 0;
      const isOld = now() - atMs > FEW_INSERTS_MS;
      if (before === undefined) return isOld ? Number.POSITIVE_INFINITY : 0;
      const addedOf = async (shard: Redis, index: number) => {
        const last = isOld ? Number.POSITIVE_INFINITY : (counts[index] ?? 0);
        const added = (await read(shard, index).catch(() => last)) - (before[index] ?? 0);
        return added < 0 ? Number.POSITIVE_INFINITY : added;
      };
      return (await Promise.all(shards.map(addedOf))).reduce((sum, one) => sum + one, 0);
    },

    close: () => clearInterval(timer),
  };
}
