import { createReplication } from '@waymark/redis';
import { startRedis, type TestRedis } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { blockFilters, FILTERS_BLOCKED_MS, openFilterMark } from '../../src/claims/filter-marks.js';

const MARK = '{waymark}:claim:filters:ws_1';
let server: TestRedis;
let redis: Redis;

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
});
beforeEach(() => redis.flushall());
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

const open = () => openFilterMark(redis, createReplication(redis, 0), 'ws_1');
const endBlock = () => redis.del(MARK);

it('a Redis that has lost its data gets a mark only after filters have been blocked for a while', async () => {
  expect(await open()).toBeUndefined();
  expect(await open()).toBeUndefined();
  const leftMs = await redis.pttl(MARK);
  expect(leftMs).toBeGreaterThan(FILTERS_BLOCKED_MS - 10_000);
  expect(leftMs).toBeLessThanOrEqual(FILTERS_BLOCKED_MS);
  await endBlock();
  const mark = await open();
  expect(mark).toMatchObject({ key: MARK, value: expect.stringMatching(/^f:/) });
  expect(await open()).toEqual(mark);
  await redis.flushall();
  expect(await open()).toBeUndefined();
});

it('a block replaces the mark, and the next mark has another value', async () => {
  await open();
  await endBlock();
  const first = await open();
  await blockFilters(redis, createReplication(redis, 0), 'ws_1');
  expect(await open()).toBeUndefined();
  await endBlock();
  const second = await open();
  expect([first, second].map((mark) => mark?.value.length)).toEqual([38, 38]);
  expect(second?.value).not.toBe(first?.value);
});
