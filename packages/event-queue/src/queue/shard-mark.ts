import type { Redis } from 'ioredis';
import { QUEUE_PREFIX } from './keys.js';

/**
 * A mark in every queue shard: its number, and how many shards there are. Workspaces belong to a shard by its number, so a list of
 * shards in another order, or a process without the list, would look for claims in the wrong Redis and record events twice.
 * Installations with one Redis have no mark.
 */
const MARK_KEY = `${QUEUE_PREFIX}:shard`;

/**
 * Returns number and count of the mark, after setting what is absent and raising the count. KEYS: the mark. ARGV: number and count that
 * this process is configured with. Writes nothing while they are equal, nor with one shard.
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
 * Marks a Redis as a queue shard, and checks the mark that it has.
 *
 * @param shard its number
 * @param count of all shards
 * @throws ShardMismatchError; the error of Redis or the connection
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
      `QUEUE_SHARDS: this installation has ${known} queue shards, and this process knows ${count}. Give every service the same list (docs/production.md#queue-shards)`,
    );
  }
}
