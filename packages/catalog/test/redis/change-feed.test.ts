import { startRedis, type TestRedis, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { type CatalogChange, createInvalidations } from '../../src/redis/change-feed.js';

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

/** One process' part, on a subscription of its own. */
function aProcess(subscriber: Redis) {
  const heard: CatalogChange[] = [];
  const connections = {
    subscriber,
    attempt: <T>(command: (redis: Redis) => Promise<T>) => command(client),
    isAway: () => false,
    insist: <T>(command: (redis: Redis) => Promise<T>) => command(client),
    close: async () => undefined,
  };
  const missed = vi.fn();
  const watcher = { changed: (change: CatalogChange) => void heard.push(change), missed };
  return { ...createInvalidations(connections, watcher, { warn: () => undefined }), heard, missed };
}

it('a change is known where it was made before anybody is answered, though the announcement never comes back', async () => {
  // Never connected: nothing is heard.
  const { announce, heard, close } = aProcess(new Redis(redis.url, { lazyConnect: true }));
  await announce({ names: ['link/a/b'] });
  await close();
  expect(heard).toEqual([{ names: ['link/a/b'], records: [], counted: [] }]);
});

it('a change is known to every process that may use copies once its announcement returns', async () => {
  const subscribers = Array.from({ length: 3 }, () => new Redis(redis.url));
  const processes = subscribers.map(aProcess);
  const [first, ...others] = processes;
  for (const one of processes) await waitFor(one.isHearing, { what: 'the subscription' });
  await Promise.all(
    Array.from({ length: 50 }, async (_, index) => {
      await first?.announce({ names: [`link/a/${index}`] });
      for (const { heard } of others) expect(heard.some(({ names }) => names[0] === `link/a/${index}`)).toBe(true);
    }),
  );
  for (const one of processes) await one.close();
  for (const subscriber of subscribers) subscriber.disconnect();
});

it('what another version announces is acknowledged: it may be any change', async () => {
  const subscriber = new Redis(redis.url);
  const { missed, isHearing, close } = aProcess(subscriber);
  const announcer = new Redis(redis.url);
  const said: string[] = [];
  announcer.on('message', (_channel, text) => said.push(text));
  await announcer.subscribe('waymark:catalog:acknowledged:other');
  await waitFor(isHearing, { what: 'the subscription' });
  const missedBefore = missed.mock.calls.length;
  await client.publish('waymark:catalog', JSON.stringify({ names: 'all of them', from: 'other', number: 7 }));
  await waitFor(() => said.length > 0, { what: 'the acknowledgement' });
  expect(JSON.parse(said[0] ?? '')[1]).toEqual([7]);
  expect(missed.mock.calls.length).toBe(missedBefore + 1);
  await close();
  for (const one of [subscriber, announcer]) one.disconnect();
});

it('copies may be used for as long as pings come back, not by the subscription alone', async () => {
  const subscriber = new Redis(redis.url);
  const ping = vi.spyOn(subscriber, 'ping');
  const { isHearing, close } = aProcess(subscriber);
  try {
    expect(isHearing()).toBe(false);
    await waitFor(isHearing, { what: 'the subscription' });
    // Five of them take longer than a subscription is believed without.
    await waitFor(() => ping.mock.results.length >= 5, { what: 'pings', timeoutMs: 20_000 });
    await waitFor(isHearing, { what: 'the last ping' });
    subscriber.disconnect();
    await waitFor(() => !isHearing(), { what: 'the end to be noticed' });
  } finally {
    await close();
    subscriber.disconnect();
  }
});
