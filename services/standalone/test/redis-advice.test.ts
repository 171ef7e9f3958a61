import { startRedis } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { redisAdvice } from '../src/redis-advice.js';

it('a Redis that may lose queued events is pointed out, one line a setting', async () => {
  const server = await startRedis();
  const redis = new Redis(server.url);
  try {
    expect(await redisAdvice(redis)).toEqual([]);
    await redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
    await redis.config('SET', 'appendfsync', 'everysec');
    expect(await redisAdvice(redis)).toEqual([
      expect.stringContaining('maxmemory-policy is allkeys-lru, not noeviction'),
      expect.stringContaining('appendfsync is everysec, not always'),
    ]);
  } finally {
    redis.disconnect();
    await server.stop();
  }
});
