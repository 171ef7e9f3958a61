import { connectRedis } from '@waymark/redis';
import { startRedis, startRedisCluster, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createRateLimiter, type RateLimiter, type RateLimiterOptions } from '../src/index.js';

const INSTANCE_KEY = Buffer.alloc(32, 5);

let server: Awaited<ReturnType<typeof startRedis>>;
let redis: Redis;
const limiters: RateLimiter[] = [];
let keys = 0;

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
  redis.on('error', () => {});
});
afterEach(async () => {
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()));
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

/** A long time-out by default, so that a slow machine does not look like an unavailable Redis. */
function aLimiter(options: Partial<RateLimiterOptions> = {}): RateLimiter {
  const limiter = createRateLimiter(redis, { instanceKey: INSTANCE_KEY, commandTimeoutMs: 10_000, ...options });
  limiters.push(limiter);
  return limiter;
}

/** Advances `performance.now` by a second until the end of the test. */
function letASecondPass(): void {
  const real = performance.now.bind(performance);
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => real() + 1000);
  onTestFinished(() => clock.mockRestore());
}

/** A key that no other test uses. */
function aKey(): string {
  keys += 1;
  return `key-${keys}`;
}

describe('with Redis', () => {
  it('allows requests up to the limit and rejects those beyond it', async () => {
    const limiter = aLimiter();
    const key = aKey();
    const results = [];
    for (let request = 0; request < 5; request++) results.push(await limiter.take(key, 'standard', 3, 60));
    expect(results.map(({ allowed }) => allowed)).toEqual([true, true, true, false, false]);
    expect(results.map(({ remaining }) => remaining)).toEqual([2, 1, 0, 0, 0]);
    expect(results.every(({ limit }) => limit === 3)).toBe(true);
  });

  it('giving back more than was counted does not raise the limit', async () => {
    const limiter = aLimiter();
    const key = aKey();
    await limiter.giveBack(key, 'standard', 60, 100);
    const results = [];
    for (let request = 0; request < 4; request++) results.push(await limiter.take(key, 'standard', 3, 60));
    expect(results.map(({ allowed }) => allowed)).toEqual([true, true, true, false]);
    expect(results[3]?.resetEpochSeconds).toBeGreaterThan(Date.now() / 1000);
  });

  it('peek returns what take would return, and counts nothing', async () => {
    const limiter = aLimiter();
    const key = aKey();
    for (let time = 0; time < 5; time++) {
      expect(await limiter.peek(key, 'tries', 1, 60)).toMatchObject({ allowed: true, remaining: 1 });
    }
    expect((await limiter.take(key, 'tries', 1, 60)).allowed).toBe(true);
    expect(await limiter.peek(key, 'tries', 1, 60)).toMatchObject({ allowed: false, remaining: 0 });
    expect((await limiter.peek(key, 'tries', 2, 60)).allowed).toBe(true);
  });

  it('peek includes every take before it, also concurrent ones', async () => {
    const limiter = aLimiter();
    const key = aKey();
    const takes = Array.from({ length: 50 }, () => limiter.take(key, 'tries', 50, 60));
    const [peeked] = await Promise.all([limiter.peek(key, 'tries', 50, 60), ...takes]);
    expect(peeked.allowed).toBe(false);
  });

  it('returns the end of the window in epoch seconds, and the wait in whole seconds, at least one', async () => {
    const limiter = aLimiter();
    const key = aKey();
    const before = Date.now();
    const first = await limiter.take(key, 'standard', 1, 60);
    const after = Date.now();
    expect(first.resetEpochSeconds).toBeGreaterThanOrEqual(Math.ceil((before + 59_900) / 1000));
    expect(first.resetEpochSeconds).toBeLessThanOrEqual(Math.ceil((after + 60_000) / 1000));
    expect(first.retryAfterSeconds).toBe(60);
    expect((await limiter.take(key, 'analytics', 1, 1)).retryAfterSeconds).toBe(1);
  });

  it('the window is fixed: it starts with the first request and later ones do not prolong it', async () => {
    const limiter = aLimiter();
    const key = aKey();
    const earliestMs = Date.now();
    await limiter.take(key, 'analytics', 2, 1);
    const latestMs = Date.now();
    let refusedMs = 0;
    await waitFor(
      async () => {
        const sentMs = Date.now();
        const { allowed } = await limiter.take(key, 'analytics', 2, 1);
        if (!allowed) refusedMs = sentMs;
        return allowed && refusedMs > 0;
      },
      { timeoutMs: 30_000, what: 'a new window' },
    );
    expect(Date.now()).toBeGreaterThanOrEqual(earliestMs + 999);
    expect(refusedMs).toBeLessThanOrEqual(latestMs + 1001);
    // The allowed request that ended the wait started a new window.
    expect((await limiter.take(key, 'analytics', 2, 1)).remaining).toBe(0);
  });

  it('keys, buckets and windows are counted separately', async () => {
    const limiter = aLimiter();
    const [one, other] = [aKey(), aKey()];
    expect((await limiter.take(one, 'standard', 1, 60)).allowed).toBe(true);
    expect((await limiter.take(other, 'standard', 1, 60)).allowed).toBe(true);
    expect((await limiter.take(one, 'analytics', 1, 1)).allowed).toBe(true);
    expect((await limiter.take(one, 'qr', 1, 10)).allowed).toBe(true);
    expect((await limiter.take(one, 'standard', 1, 10)).allowed).toBe(true);
    expect((await limiter.take(one, 'standard', 1, 60)).allowed).toBe(false);
  });

  it('a limit that changes within a window applies at once, and the count is kept', async () => {
    const limiter = aLimiter();
    const key = aKey();
    for (let request = 0; request < 3; request++) await limiter.take(key, 'standard', 3, 60);
    expect((await limiter.take(key, 'standard', 10, 60)).remaining).toBe(6);
    expect((await limiter.take(key, 'standard', 2, 60)).allowed).toBe(false);
  });

  it('processes share the count: exactly the limit of concurrent requests is allowed', async () => {
    const [one, other] = [aLimiter(), aLimiter()];
    const key = aKey();
    const results = await Promise.all(
      Array.from({ length: 200 }, (_, index) => (index % 2 === 0 ? one : other).take(key, 'standard', 60, 60)),
    );
    expect(results.filter(({ allowed }) => allowed)).toHaveLength(60);
  });

  it('uses one Redis command per request', async () => {
    const limiter = aLimiter();
    const key = aKey();
    await limiter.take(key, 'standard', 100, 60);
    const send = vi.spyOn(Redis.prototype, 'sendCommand');
    onTestFinished(() => send.mockRestore());
    for (let request = 0; request < 10; request++) await limiter.take(key, 'standard', 100, 60);
    expect(send.mock.calls.map(([{ name }]) => name)).toEqual(Array(10).fill('evalsha'));
  });

  it('leaves no key without an expiry', async () => {
    const limiter = aLimiter();
    await limiter.take(aKey(), 'standard', 1, 60);
    const names = await redis.keys('waymark:limit:*');
    expect(names.length).toBeGreaterThan(0);
    for (const name of names) expect(await redis.pttl(name)).not.toBe(-1);
  });
});

describe('points and keys', () => {
  it('a request may cost several points, and is rejected when they exceed the limit', async () => {
    const limiter = aLimiter();
    const key = aKey();
    expect(await limiter.take(key, 'standard', 10, 60, 7)).toMatchObject({ allowed: true, remaining: 3 });
    expect((await limiter.take(key, 'standard', 10, 60, 4)).allowed).toBe(false);
    expect((await limiter.take(key, 'standard', 10, 60)).allowed).toBe(false);
  });

  it('keys in Redis are keyed digests, the same for processes of one installation only', async () => {
    const bucket = 'hidden';
    for (const address of ['198.51.100.7', '2001:db8:1:2::/64']) {
      await aLimiter().take(address, bucket, 10, 60);
      expect(await aLimiter().take(address, bucket, 10, 60)).toMatchObject({ remaining: 8 });
      const others = aLimiter({ instanceKey: Buffer.alloc(32, 6) });
      expect(await others.take(address, bucket, 10, 60)).toMatchObject({ remaining: 9 });
    }
    const names = await redis.keys(`waymark:limit:${bucket}:*`);
    expect(names).toHaveLength(4);
    expect(names.join()).not.toMatch(/198\.51|2001:db8/);
  });
});

describe('without Redis', () => {
  it('requests are limited in memory, and by the shared count again once Redis is back', async () => {
    const lines: string[] = [];
    const limiter = aLimiter({ logger: { warn: (_context, message) => lines.push(message) } });
    const key = aKey();
    await limiter.take(key, 'standard', 3, 60);
    await server.kill9();

    const startedAt = performance.now();
    const results = await Promise.all(Array.from({ length: 50 }, () => limiter.take(key, 'standard', 3, 60)));
    expect(performance.now() - startedAt).toBeLessThan(2000);
    expect(results.filter(({ allowed }) => allowed)).toHaveLength(3);
    expect(results[0]).toMatchObject({ limit: 3, remaining: 2 });
    expect(lines).toEqual([expect.stringContaining('Redis is unavailable')]);

    await server.restart();
    const other = aKey();
    await waitFor(
      async () => {
        await limiter.take(other, 'again', 1000, 60);
        return (await redis.keys('waymark:limit:again:*')).length === 1;
      },
      { what: 'counting in Redis again' },
    );
    expect(lines).toEqual([expect.stringContaining('Redis is unavailable'), expect.stringContaining('in Redis again')]);
  });

  it('a Redis that hangs delays the concurrent requests once, then one request per second', async () => {
    const limiter = aLimiter({ commandTimeoutMs: 200 });
    const allAtOnce = () => Promise.all(Array.from({ length: 20 }, () => limiter.take(aKey(), 'standard', 3, 60)));
    await limiter.take(aKey(), 'standard', 3, 60);
    process.kill(server.pid, 'SIGSTOP');
    try {
      const startedAt = performance.now();
      await allAtOnce();
      for (let request = 0; request < 20; request++) await limiter.take(aKey(), 'standard', 3, 60);
      expect(performance.now() - startedAt).toBeLessThan(3000);
    } finally {
      process.kill(server.pid, 'SIGCONT');
    }
  });

  it('while Redis hangs, the request that tries it again delays no other', async () => {
    const limiter = aLimiter({ commandTimeoutMs: 200 });
    await limiter.take(aKey(), 'standard', 3, 60);
    process.kill(server.pid, 'SIGSTOP');
    try {
      await limiter.take(aKey(), 'standard', 3, 60);
      letASecondPass();
      const order: string[] = [];
      const trying = limiter.take(aKey(), 'standard', 3, 60).then(() => order.push('the one that tries Redis'));
      await limiter.take(aKey(), 'standard', 3, 60).then(() => order.push('another'));
      await trying;
      expect(order).toEqual(['another', 'the one that tries Redis']);
    } finally {
      process.kill(server.pid, 'SIGCONT');
    }
  });

  it('Redis is tried again after a second, also when the clock of the process is set back meanwhile', async () => {
    let nowMs = Date.now();
    const messages: string[] = [];
    const logger = { warn: (_context: object, message: string) => void messages.push(message) };
    const limiter = aLimiter({ commandTimeoutMs: 200, now: () => nowMs, logger });
    await limiter.take(aKey(), 'standard', 3, 60);
    process.kill(server.pid, 'SIGSTOP');
    await limiter.take(aKey(), 'standard', 3, 60);
    process.kill(server.pid, 'SIGCONT');
    nowMs -= 3_600_000;
    letASecondPass();
    const isBack = async () => {
      await limiter.take(aKey(), 'standard', 3, 60);
      return messages.length === 2;
    };
    await waitFor(isBack, { what: 'counting in Redis' });
    expect(messages[1]).toBe('rate limits are counted in Redis again');
  });

  it('an unavailable Redis delays the first requests by the time-out only', async () => {
    const nowhere = new Redis('redis://127.0.0.1:1', { lazyConnect: true });
    const limiter = createRateLimiter(nowhere, { instanceKey: INSTANCE_KEY });
    limiters.push(limiter);
    const startedAt = performance.now();
    const results = await Promise.all(Array.from({ length: 5 }, () => limiter.take(aKey(), 'standard', 3, 60)));
    expect(performance.now() - startedAt).toBeLessThan(2000);
    expect(results.every(({ allowed }) => allowed)).toBe(true);
  });
});

it('on a cluster, the processes count together', async () => {
  const cluster = await startRedisCluster();
  const client = connectRedis(cluster.url, { retryStrategy: () => 50 });
  client.on('error', () => {});
  const options = { instanceKey: INSTANCE_KEY, commandTimeoutMs: 10_000 };
  const processes = [createRateLimiter(client, options), createRateLimiter(client, options)];
  onTestFinished(async () => {
    await Promise.all(processes.map((limiter) => limiter.close()));
    client.disconnect();
    await cluster.stop();
  });
  const remaining: number[] = [];
  for (const limiter of processes) remaining.push((await limiter.take('key', 'standard', 3, 60)).remaining);
  expect(remaining).toEqual([2, 1]);
}, 60_000);
