import type { Redis } from 'ioredis';
import { QUEUE_PREFIX } from './keys.js';

/**
 * The mark of a queue shard: its number, and how many shards there are. A workspace belongs to the shard with a certain number. So a
 * process that has the list of shards in another order, or not at all, would look for claims in the wrong Redis and record events twice.
 * An installation with one shard has no mark.
 */
const MARK_KEY = `${QUEUE_PREFIX}:shard`;

/**
 * Sets the mark if there is none, and raises its count if this process has more shards; then returns number and count of the mark. Writes
 * nothing if the number differs, nor if this process has one shard. KEYS: the mark. ARGV: number and count that this process is configured
 * with.
 */
const MARK = `
local held, count = redis.call('HGET', KEYS[1], 'number'), tonumber(redis.call('HGET', KEYS[1], 'count') or '1')
if tonumber(ARGV[2]) == 1 then return {held or '0', count} end
if held and held ~= ARGV[1] then return {held, count} end
if not held or count < tonumber(ARGV[2]) then
  count = math.max(count, tonumber(ARGV[2]))
  redis.call('HSET', KEYS[1], 'number', ARGV[1], 'count', count)
end
return {ARGV[1], count}
`;

/** This process is configured with other queue shards than the installation has. */
export class ShardMismatchError extends Error {
  override readonly name = 'ShardMismatchError';
}

/**
 * Marks a Redis as a queue shard, unless it has a mark, and compares the mark with the settings of this process.
 *
 * @param shard number of this Redis in the list of shards
 * @param count number of all shards in the list
 * @throws ShardMismatchError when the mark has another number or a higher count; the error of Redis or the connection
 */
export async function checkShardMark(redis: Redis, shard: number, count: number): Promise<void> {
  const [number, known] = (await redis.eval(MARK, 1, MARK_KEY, shard, count)) as [string, number];
  if (Number(number) !== shard) {
    throw new ShardMismatchError(
      `QUEUE_SHARDS: the Redis at place ${shard} is shard ${number} of this installation. Keep the order of the list, and add new ones at its end (docs/production.md#queue-shards)`,
    );
  }
  if (known > count) {
    throw new ShardMismatchError(
      `QUEUE_SHARDS: this installation has ${known} queue shards, and the settings of this process have ${count}. Give every service the same list (docs/production.md#queue-shards)`,
    );
  }
}
