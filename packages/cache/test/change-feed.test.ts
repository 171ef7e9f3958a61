import { setImmediate as immediate } from 'node:timers/promises';
import { startRedis, startTcpProxy, type TestRedis, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { createChangeFeed } from '../src/index.js';

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

const changeSchema = z.object({ names: z.array(z.string()) });
type Change = z.infer<typeof changeSchema>;

/** The change feed of one process, on a subscription of its own. */
function aProcess(subscriber: Redis, { commands = client, channel = 'test', beforeRun = async () => {} } = {}) {
  const received: Change[] = [];
  const connections = {
    subscriber,
    keyPrefix: '',
    tryRun: <T>(command: (redis: Redis) => Promise<T>) => command(commands),
    run: <T>(command: (redis: Redis) => Promise<T>) => beforeRun().then(() => command(commands)),
    runAtOnce: <T>(command: (redis: Redis) => Promise<T>) => command(commands),
  };
  const onGap = vi.fn();
  const feed = createChangeFeed<Change, Change>({
    channel,
    connections,
    parse: (message) => changeSchema.safeParse(message).data,
    logger: { warn: () => undefined },
  });
  feed.subscribe({ onChange: (change) => void received.push(change), onGap });
  return { ...feed, received, onGap };
}

it('a change reaches the subscribers of its own process before publish returns, without a message from Redis', async () => {
  // Never connected: nothing is received.
  const { publish, received, close } = aProcess(new Redis(redis.url, { lazyConnect: true }));
  await publish({ names: ['link/a/b'] });
  await close();
  expect(received).toEqual([{ names: ['link/a/b'] }]);
});

it('a change reaches every process that may serve copies before publish returns', async () => {
  const subscribers = Array.from({ length: 3 }, () => new Redis(redis.url));
  const processes = subscribers.map((subscriber) => aProcess(subscriber));
  const [first, ...others] = processes;
  for (const one of processes) await waitFor(one.isSubscribed, { what: 'the subscription' });
  await Promise.all(
    Array.from({ length: 50 }, async (_, index) => {
      await first?.publish({ names: [`link/a/${index}`] });
      for (const { received } of others)
        expect(received.some(({ names }) => names[0] === `link/a/${index}`)).toBe(true);
    }),
  );
  for (const one of processes) await one.close();
  for (const subscriber of subscribers) subscriber.disconnect();
});

it('a message of another version is acknowledged, and counts as a gap because it may be any change', async () => {
  const subscriber = new Redis(redis.url);
  const { onGap, isSubscribed, close } = aProcess(subscriber);
  const publisher = new Redis(redis.url);
  const acknowledged: string[] = [];
  publisher.on('message', (_channel, text) => acknowledged.push(text));
  await publisher.subscribe('test:acknowledged:other');
  await waitFor(isSubscribed, { what: 'the subscription' });
  const gapsBefore = onGap.mock.calls.length;
  await client.publish('test', JSON.stringify({ names: 'all of them', from: 'other', number: 7 }));
  await waitFor(() => acknowledged.length > 0, { what: 'the acknowledgement' });
  expect(JSON.parse(acknowledged[0] ?? '')[1]).toEqual([7]);
  expect(onGap.mock.calls.length).toBe(gapsBefore + 1);
  await close();
  for (const one of [subscriber, publisher]) one.disconnect();
});

it('copies may be served while pings are answered; a subscription without pings is not enough', async () => {
  const subscriber = new Redis(redis.url);
  const ping = vi.spyOn(subscriber, 'ping');
  const { isSubscribed, close } = aProcess(subscriber);
  try {
    expect(isSubscribed()).toBe(false);
    await waitFor(isSubscribed, { what: 'the subscription' });
    // Five pings take longer than the lease lasts without one.
    await waitFor(() => ping.mock.results.length >= 5, { what: 'pings' });
    await waitFor(isSubscribed, { what: 'the last ping' });
    subscriber.disconnect();
    await waitFor(() => !isSubscribed(), { what: 'the end of the subscription' });
  } finally {
    await close();
    subscriber.disconnect();
  }
});

it('a process with dead connections stops serving copies before its lease in Redis ends', async () => {
  const proxy = await startTcpProxy(Number(new URL(redis.url).port));
  /** How many ms the lease in Redis has left when the process has stopped serving copies. */
  async function leftMs(channel: string): Promise<number> {
    const [subscriber, commands] = [new Redis(proxy.port), new Redis(proxy.port)];
    const { isSubscribed, close } = aProcess(subscriber, { commands, channel });
    await waitFor(isSubscribed, { what: 'the subscription' });
    proxy.abandon();
    const [, untilMs] = await client.zrange(`${channel}:holders`, '0', '-1', 'WITHSCORES');
    while (isSubscribed()) await immediate();
    const [seconds = 0, microseconds = 0] = (await client.time()).map(Number);
    for (const one of [subscriber, commands]) one.disconnect();
    await close().catch(() => undefined);
    return Number(untilMs) - seconds * 1000 - microseconds / 1000;
  }
  // On a busy machine the process may detect the end late, so several attempts are allowed.
  const found: number[] = [];
  while (found.length < 5 && Math.max(...found, 0) < 10) found.push(await leftMs(`dead-${found.length}`));
  expect(Math.max(...found)).toBeGreaterThanOrEqual(10);
  await proxy.stop();
});

/** The lease holders of a channel whose leases have not ended. */
async function holdersOf(channel: string): Promise<string[]> {
  const [seconds = 0] = (await client.time()).map(Number);
  return client.zrange(`${channel}:holders`, seconds * 1000, '+inf', 'BYSCORE');
}

it('a process that has not served copies for five seconds stops renewing its lease until its next read', async () => {
  const subscriber = new Redis(redis.url);
  const { isSubscribed, close } = aProcess(subscriber, { channel: 'idle' });
  try {
    await waitFor(isSubscribed, { what: 'the subscription' });
    expect(await holdersOf('idle')).toHaveLength(1);
    const real = performance.now.bind(performance);
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => real() + 5000);
    await waitFor(async () => (await holdersOf('idle')).length === 0, {
      what: 'the end of the lease',
      timeoutMs: 20_000,
    });
    clock.mockRestore();
    await waitFor(isSubscribed, { what: 'a new lease' });
  } finally {
    vi.restoreAllMocks();
    await close();
    subscriber.disconnect();
  }
});

it('a process that closes its feed releases its lease, so that no write waits for it', async () => {
  const subscriber = new Redis(redis.url);
  const { isSubscribed, close } = aProcess(subscriber, { channel: 'closed' });
  await waitFor(isSubscribed, { what: 'the subscription' });
  await close();
  expect(await client.zcard('closed:holders')).toBe(0);
  subscriber.disconnect();
});

it('a change without acknowledgements is published although replicas of Redis do not confirm', async () => {
  const [subscriber, other] = [new Redis(redis.url), new Redis(redis.url)];
  const publisher = aProcess(subscriber, { channel: 'unawaited', beforeRun: () => new Promise(() => {}) });
  const { received, onGap, close } = aProcess(other, { channel: 'unawaited' });
  await waitFor(() => onGap.mock.calls.length > 0, { what: 'the subscription' });
  await publisher.publishUnacknowledged({ names: ['link/a/b'] });
  await waitFor(() => received.length > 0, { what: 'the change' });
  for (const one of [publisher.close, close]) await one();
  for (const one of [subscriber, other]) one.disconnect();
});

it('a process whose subscription was refused or not answered in time subscribes again on the same connection', async () => {
  const subscriber = new Redis(redis.url);
  vi.spyOn(subscriber, 'subscribe').mockRejectedValueOnce(new Error('BUSY Redis is busy running a script'));
  const { onGap, isSubscribed, close } = aProcess(subscriber, { channel: 'refused' });
  await waitFor(isSubscribed, { what: 'the second subscription' });
  expect(onGap).toHaveBeenCalledOnce();
  await close();
  subscriber.disconnect();
});

it('after a renewal of the lease has failed, the next one begins half a second later, however often the lease is read', async () => {
  const subscriber = new Redis(redis.url);
  const beforeRun = vi.fn(async () => {
    throw new Error('0 of 1 replicas confirmed');
  });
  const { isSubscribed, close } = aProcess(subscriber, { channel: 'unconfirmed', beforeRun });
  let nowMs = performance.now();
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  try {
    const readUntil = (count: number) => async () => {
      isSubscribed();
      return beforeRun.mock.calls.length === count;
    };
    await waitFor(readUntil(1), { what: 'the first attempt' });
    for (let read = 0; read < 20; read++) {
      expect(isSubscribed()).toBe(false);
      await immediate();
    }
    expect(beforeRun).toHaveBeenCalledOnce();
    nowMs += 500;
    await waitFor(readUntil(2), { what: 'the second attempt' });
  } finally {
    clock.mockRestore();
    await close();
    subscriber.disconnect();
  }
});

it.each([
  ['', '0'],
  [', also by a full Redis', '1'],
])(
  'a write waits for a killed process no longer than its lease lasts after the clock of Redis was set back%s',
  async (_how, maxmemory) => {
    const channel = `set-back-${maxmemory}`;
    const secondsOf = async () => Number((await client.time())[0]);
    await client.zadd(`${channel}:holders`, (await secondsOf()) * 1000 + 3_600_000, 'killed');
    const subscriber = new Redis(redis.url);
    const { publish, close } = aProcess(subscriber, { channel });
    await client.config('SET', 'maxmemory', maxmemory);
    try {
      await publish({ names: ['link/a/b'] });
      const endsMs = Number(await client.zscore(`${channel}:holders`, 'killed'));
      if (maxmemory === '0') expect(endsMs).toBeLessThan((await secondsOf()) * 1000 + 3000);
    } finally {
      await client.config('SET', 'maxmemory', '0');
      await close();
      subscriber.disconnect();
    }
  },
);
