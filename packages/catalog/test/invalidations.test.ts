import { startRedis, type TestRedis, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
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
  const { announce, close } = createInvalidations(connections, watcher, { warn: () => undefined });
  await announce({ names: ['link/a/b'] });
  close();
  expect(heard).toEqual([{ names: ['link/a/b'], records: [], counted: [] }]);
});

it('announcements are known to arrive for as long as pings come back, not by the subscription alone', async () => {
  const subscriber = new Redis(redis.url);
  const ping = vi.spyOn(subscriber, 'ping');
  const connections = {
    subscriber,
    attempt: async () => undefined,
    insist: <T>(command: (redis: Redis) => Promise<T>) => command(client),
    close: async () => undefined,
  };
  const watcher = { changed: () => undefined, missed: () => undefined };
  const { isHearing, close } = createInvalidations(connections, watcher, { warn: () => undefined });
  try {
    expect(isHearing()).toBe(false);
    await waitFor(isHearing, { what: 'the subscription' });
    // Five of them take longer than a subscription is believed without.
    await waitFor(() => ping.mock.results.length >= 5, { what: 'pings', timeoutMs: 20_000 });
    await waitFor(isHearing, { what: 'the last ping' });
    subscriber.disconnect();
    await waitFor(() => !isHearing(), { what: 'the end to be noticed' });
  } finally {
    close();
    subscriber.disconnect();
  }
});
