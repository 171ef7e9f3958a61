import { startRedis, type TestRedis } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createFailureCounts } from '../../src/delivery/failure-counts.js';
import { FAILURES_MAX } from '../../src/delivery/retry-schedule.js';

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

it('counts consecutive failures, and starts at zero after a success', async () => {
  const failures = createFailureCounts(redis);
  const webhook = { id: 'wh_counted', updatedAt: '2026-01-01T00:00:00.000Z' };
  expect([await failures.add(webhook), await failures.add(webhook)]).toEqual([1, 2]);
  await failures.reset(webhook);
  expect(await failures.read(webhook)).toBe(0);
});

it('a count that has reached the limit stays after a success, because the webhook is being disabled', async () => {
  const failures = createFailureCounts(redis);
  const webhook = { id: 'wh_full', updatedAt: '2026-01-01T00:00:00.000Z' };
  for (let count = 1; count <= FAILURES_MAX; count++) expect(await failures.add(webhook)).toBe(count);
  await failures.reset(webhook);
  expect(await failures.read(webhook)).toBe(FAILURES_MAX);
});

it('rejects when Redis cannot count a failure, instead of returning zero', async () => {
  const failures = createFailureCounts(redis);
  const webhook = { id: 'wh_broken', updatedAt: '2026-01-01T00:00:00.000Z' };
  await failures.add(webhook);
  const [key = ''] = await redis.keys('*wh_broken*');
  await redis.set(key, 'no number');
  await expect(failures.add(webhook)).rejects.toThrow('not an integer');
});

it('rejects when Redis discards the transaction', async () => {
  const failures = createFailureCounts(redis);
  const other = new Redis(server.url);
  await redis.watch('watched');
  await other.set('watched', 'changed');
  other.disconnect();
  await expect(failures.add({ id: 'wh_discarded', updatedAt: '2026-01-01T00:00:00.000Z' })).rejects.toThrow();
});
