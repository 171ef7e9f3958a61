import type { Redis } from 'ioredis';

/** What a Redis must be set to, and why: the queue lives in it. */
const NEEDED = [
  ['maxmemory-policy', 'noeviction', 'queued events could be evicted'],
  ['appendonly', 'yes', 'queued events are lost when Redis ends'],
  ['appendfsync', 'always', 'acknowledged events can be lost when Redis is killed'],
] as const;

/** What an operator should change about a Redis that is not ours; nothing when it does not tell. */
export async function redisAdvice(redis: Redis): Promise<string[]> {
  const found = await Promise.all(
    NEEDED.map(async ([name, wanted, risk]) => {
      const [, value] = (await redis.config('GET', name).catch(() => [])) as string[];
      return value === undefined || value === wanted
        ? undefined
        : `REDIS_URL: ${name} is ${value}, not ${wanted}: ${risk}`;
    }),
  );
  return found.filter((line) => line !== undefined);
}
