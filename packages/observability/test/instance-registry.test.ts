import { startRedis, type TestRedis } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { createInstanceRegistry, type Instance } from '../src/components/instance-registry.js';

let server: TestRedis;
let redis: Redis;
let admin: Redis;

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
  admin = new Redis(server.url);
});
beforeEach(() => admin.flushdb());
afterAll(async () => {
  redis.disconnect();
  admin.disconnect();
  await server.stop();
});

const instance: Instance = {
  service: 'query',
  instance: 'host:1',
  host: 'host',
  pid: 1,
  startedAt: 1,
  version: '0',
  lastWorkAt: null,
  beatAt: 1,
};

const WRITES = [
  ['a start', () => createInstanceRegistry(redis).started(instance)],
  ['a heartbeat', () => createInstanceRegistry(redis).beat(instance)],
  ['an end', () => createInstanceRegistry(redis).stopped(instance, 2)],
] as const;

it.each(WRITES)('%s that Redis discarded is an error', async (_what, write) => {
  await redis.watch('watched');
  await admin.set('watched', 'changed');
  await expect(write()).rejects.toThrow();
  await write();
});

it.each(WRITES)('%s of which one command failed is an error', async (_what, write) => {
  await admin.set('{waymark}:instances', 'no hash');
  await expect(write()).rejects.toThrow('WRONGTYPE');
});
