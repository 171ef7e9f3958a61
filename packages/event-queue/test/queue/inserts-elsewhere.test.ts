import { startRedis, type TestRedis } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createInsertsElsewhere } from '../../src/queue/inserts-elsewhere.js';
import { INSERT_COUNT_KEY } from '../../src/queue/keys.js';

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

it('counts the inserts of other shards, and uses the last count for a minute if a shard does not answer', async () => {
  const shard = new Redis(redis.url);
  const nowMs = Date.UTC(2026, 0, 1);
  const earlierMs = nowMs - 61_000;
  const elsewhere = createInsertsElsewhere([shard], () => nowMs);
  await shard.set(INSERT_COUNT_KEY, 10);
  expect(await elsewhere.since([4], earlierMs)).toBe(6);
  expect(await elsewhere.since([], earlierMs)).toBe(10);
  // The shard has lost its data since.
  expect(await elsewhere.since([11], nowMs)).toBe(Number.POSITIVE_INFINITY);
  // A batch of a release that did not store the counts.
  expect(await elsewhere.since(undefined, nowMs)).toBe(0);
  expect(await elsewhere.since(undefined, earlierMs)).toBe(Number.POSITIVE_INFINITY);
  shard.disconnect();
  expect(elsewhere.seen()).toEqual([10]);
  expect(await elsewhere.since([4], nowMs)).toBe(6);
  expect(await elsewhere.since([4], earlierMs)).toBe(Number.POSITIVE_INFINITY);
  elsewhere.close();
});

it('counts none if there is no other shard', async () => {
  const elsewhere = createInsertsElsewhere([], Date.now);
  expect(await elsewhere.since(undefined, 0)).toBe(0);
  expect(elsewhere.seen()).toEqual([]);
  elsewhere.close();
});
