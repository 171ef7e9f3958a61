import { startRedis } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test, vi } from 'vitest';
import { RESERVE_KEY } from '../../src/queue/keys.js';
import { createMemoryReserve } from '../../src/redis/memory-reserve.js';
import { silentLogger } from '../silent-logger.js';

test('the reserve is released again although the clock was set back since the last time', async () => {
  const server = await startRedis();
  const redis = new Redis(server.url);
  // The first check is without effect: this Redis has no limit.
  const reserve = createMemoryReserve(redis, silentLogger);
  const real = { now: Date.now.bind(Date), elapsed: performance.now.bind(performance) };
  onTestFinished(async () => {
    vi.restoreAllMocks();
    reserve.close();
    redis.disconnect();
    await server.stop();
  });
  const isReleased = async () => {
    await redis.set(RESERVE_KEY, 'x');
    reserve.release();
    return (await redis.exists(RESERVE_KEY)) === 0;
  };
  expect(await isReleased()).toBe(true);
  vi.spyOn(Date, 'now').mockImplementation(() => real.now() - 3_600_000);
  vi.spyOn(performance, 'now').mockImplementation(() => real.elapsed() + 1000);
  expect(await isReleased()).toBe(true);
});
