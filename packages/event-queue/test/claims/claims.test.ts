import { startRedis } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { createClaims } from '../../src/claims/claims.js';
import { alone } from '../alone.js';

it('times of owners that never release are removed, also those from before the clock was set back by an hour', async () => {
  const server = await startRedis();
  const redis = new Redis(server.url);
  onTestFinished(async () => {
    redis.disconnect();
    await server.stop();
  });
  let nowMs = 1e12;
  const claims = createClaims(redis, alone(redis), () => nowMs);
  const owners = Array.from({ length: 10_000 }, (_, index) => `owner ${index}`);
  await Promise.all(owners.map((owner) => claims.take(['name'], owner)));
  expect(claims.takenMs('owner 0')).toBe(nowMs);
  nowMs -= 3_600_000;
  await claims.take(['name'], 'later');
  expect(owners.filter((owner) => claims.takenMs(owner) !== undefined)).toEqual([]);
  expect(claims.takenMs('later')).toBe(nowMs);
});
