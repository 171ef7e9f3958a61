import { once } from 'node:events';
import { setImmediate as immediate } from 'node:timers/promises';
import { startRedis, startTcpProxy, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { expect, it, type TestContext, vi } from 'vitest';
import { takeLease } from '../src/index.js';

/** A connection to a Redis of the test. */
async function connected({ onTestFinished }: TestContext): Promise<Redis> {
  const server = await startRedis();
  const redis = new Redis(server.url);
  onTestFinished(async () => {
    redis.disconnect();
    await server.stop();
  });
  return redis;
}

// The tests mostly wait, each for a Redis of its own, so they run at the same time.

it.concurrent('a lease is lost before another process can take it, although Redis does not answer its renewals', async ({
  onTestFinished,
}) => {
  const server = await startRedis();
  const proxy = await startTcpProxy(server.port);
  const redis = new Redis(proxy.port);
  onTestFinished(async () => {
    redis.disconnect();
    await proxy.stop();
    await server.stop();
  });
  const lease = await takeLease(redis, 'test-job:1');
  let isLost = false;
  void lease?.during(async (lost) => {
    await once(lost, 'abort');
    isLost = true;
  });
  proxy.holdRequests();
  const other = new Redis(server.url);
  onTestFinished(() => other.disconnect());
  await waitFor(() => takeLease(other, 'test-job:1'), { what: 'the lease of another process' });
  expect(isLost).toBe(true);
});

it.concurrent('a lease is given back at the end of the work, also of work that fails, and only then', async (context) => {
  const redis = await connected(context);
  const lease = await takeLease(redis, 'test-job:2');
  const work = lease?.during(async () => {
    expect(await takeLease(redis, 'test-job:2')).toBeUndefined();
    throw new Error('the work fails');
  });
  await expect(work).rejects.toThrow('the work fails');
  const next = await takeLease(redis, 'test-job:2');
  expect(await next?.during(async (lost) => lost.aborted)).toBe(false);
});

it.concurrent('a process whose lease another one has taken ends its work at the next renewal, and leaves the lease of the other alone', async (context) => {
  const redis = await connected(context);
  const lease = await takeLease(redis, 'test-job:3');
  const renewals = vi.spyOn(redis, 'eval');
  await lease?.during(async (lost) => {
    // As after Redis has lost its data.
    await redis.set('waymark:test-job:3', 'another process', 'PX', 3_600_000);
    await waitFor(() => renewals.mock.results.length > 0, { what: 'a renewal' });
    await renewals.mock.results[0]?.value;
    await immediate();
    expect(lost.aborted).toBe(true);
  });
  expect(await redis.pttl('waymark:test-job:3')).toBeGreaterThan(1_800_000);
});
