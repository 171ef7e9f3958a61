import { startRedis, type TestRedis } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { checkShardMark, ShardMismatchError } from '../../src/index.js';

let server: TestRedis;
let redis: Redis;
beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});
beforeEach(() => redis.flushdb());

describe('the mark of a queue shard', () => {
  it('is not made where there is one Redis', async () => {
    await checkShardMark(redis, 0, 1);
    expect(await redis.keys('*')).toEqual([]);
  });

  it('accepts the same number again, and more shards', async () => {
    await checkShardMark(redis, 1, 2);
    await checkShardMark(redis, 1, 2);
    await checkShardMark(redis, 1, 3);
  });

  it.each([
    ['at another place of the list', 1, 2, 0, 2, 'shard 1 of this installation'],
    ['in a process with fewer shards', 0, 3, 0, 2, 'has 3 queue shards, and the settings of this process have 2'],
    ['in a process without QUEUE_SHARDS', 0, 2, 0, 1, 'has 2 queue shards, and the settings of this process have 1'],
    ['as the one Redis of a process without QUEUE_SHARDS', 1, 2, 0, 1, 'shard 1 of this installation'],
  ])('is refused %s', async (_what, shard, count, otherShard, otherCount, message) => {
    await checkShardMark(redis, shard, count);
    const check = checkShardMark(redis, otherShard, otherCount);
    await expect(check).rejects.toThrow(ShardMismatchError);
    await expect(check).rejects.toThrow(message);
    await checkShardMark(redis, shard, count);
  });

  it('is only read while it is right, so that a full Redis can be checked', async () => {
    await checkShardMark(redis, 1, 2);
    await redis.config('RESETSTAT');
    await checkShardMark(redis, 1, 2);
    expect(await redis.info('commandstats')).not.toContain('cmdstat_hset');
    expect(await redis.hgetall('{waymark}:shard')).toEqual({ number: '1', count: '2' });
  });
});
