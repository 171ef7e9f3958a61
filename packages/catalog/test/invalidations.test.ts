import { startRedis, type TestRedis } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type CatalogChange, createInvalidations } from '../src/invalidations.js';

let redis: TestRedis;
let client: Redis;
beforeAll(async () => {
  redis = await startRedis();
  client = new Redis(redis.url);
});
afterAll(async () => {
  client.disconnect();
  await redis.stop();
});

it('a change is known where it was made before anybody is answered, though the announcement never comes back', async () => {
  // Never connected: nothing is heard.
  const subscriber = new Redis(redis.url, { lazyConnect: true });
  const heard: CatalogChange[] = [];
  const connections = {
    subscriber,
    attempt: async () => undefined,
    insist: <T>(command: (redis: Redis) => Promise<T>) => command(client),
    close: async () => undefined,
  };
  const watcher = { changed: (change: CatalogChange) => void heard.push(change), missed: () => undefined };
  const { announce } = createInvalidations(connections, watcher, { warn: () => undefined });
  await announce({ names: ['link/a/b'] });
  expect(heard).toEqual([{ names: ['link/a/b'], records: [], counted: [] }]);
});
