import { setImmediate as immediate } from 'node:timers/promises';
import { startRedis, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { expect, it, onTestFinished, vi } from 'vitest';
import { CACHE_LEASE_MS, createCacheLease } from '../src/cache-lease.js';

/** A lease whose first renewal is under way, and stays so until `goOn` is called. */
async function aRenewedLease() {
  const server = await startRedis();
  const redis = new Redis(server.url);
  let goOn = () => {};
  const gate = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const run = <T>(command: (redis: Redis) => Promise<T>) => gate.then(() => command(redis));
  const lease = createCacheLease({ subscriber: redis, keyPrefix: '', tryRun: run, run, runAtOnce: run }, 'holders');
  let nowMs = performance.now();
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  onTestFinished(async () => {
    clock.mockRestore();
    await lease.close();
    redis.disconnect();
    await server.stop();
  });
  const ping = vi.spyOn(redis, 'ping');
  lease.subscribed();
  expect(lease.isHeld()).toBe(false);
  return {
    lease,
    pass(ms: number) {
      nowMs += ms;
    },
    async end() {
      goOn();
      await waitFor(() => ping.mock.results[0]?.value, { what: 'the answer to the ping' });
      await immediate();
    },
  };
}

it('a renewal that was under way when the subscription ended gives no lease', async () => {
  const { lease, end } = await aRenewedLease();
  lease.unsubscribed();
  await end();
  expect(lease.isHeld()).toBe(false);
});

it('a lease lasts from the start of its renewal, however long that took', async () => {
  const { lease, pass, end } = await aRenewedLease();
  pass(CACHE_LEASE_MS - 1);
  await end();
  expect(lease.isHeld()).toBe(true);
  pass(1);
  expect(lease.isHeld()).toBe(false);
});
