import { keyPrefix } from '@waymark/redis';
import type { Redis } from 'ioredis';

const KEYS_AT_ONCE = 1000;

/** The beginning of every cache key in a Redis. */
export const cachePrefix = (prefix: string) => `${prefix}waymark:cache:`;

/** Deletes all cache keys. @returns how many there were */
export async function evictAll(redis: Redis): Promise<number> {
  let cursor = '0';
  let count = 0;
  do {
    const [next, keys] = await redis.scan(cursor, 'MATCH', `${cachePrefix(keyPrefix(redis))}*`, 'COUNT', KEYS_AT_ONCE);
    if (keys.length > 0) count += await redis.unlink(...keys);
    cursor = next;
  } while (cursor !== '0');
  return count;
}
