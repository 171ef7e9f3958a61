import type { Redis } from 'ioredis';

const DELETE_IF_EQUAL = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`;

/** Deletes a key if it still has the value: a lock or a lease that another process has taken meanwhile is left alone. */
export async function deleteIfEqual(redis: Pick<Redis, 'eval'>, key: string, value: string): Promise<void> {
  await redis.eval(DELETE_IF_EQUAL, 1, key, value);
}
