import { elapsedMs, startRedis, startTcpProxy, type TestRedis, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { createClaimAdmin, PENDING_TTL_MS } from '../../src/index.js';
import { claimKey } from '../../src/queue/keys.js';

const NAME = 'customer:ws_1:ada';
let server: TestRedis;
let redis: Redis;

beforeAll(async () => {
  server = await startRedis({ args: [] });
  redis = new Redis(server.url);
});
afterEach(() => vi.restoreAllMocks());
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

/** Begins `work`, and resolves when it still waits for the owner of the claim after that time. */
async function waiting<T>(work: () => Promise<T>, afterMs: number): Promise<{ readonly done: Promise<T> }> {
  const evaluations = vi.spyOn(redis, 'eval');
  const reads = vi.spyOn(redis, 'mget');
  const takes = vi.spyOn(redis, 'set');
  const attempts = () => [evaluations, reads, takes].reduce((sum, { mock }) => sum + mock.calls.length, 0);
  const done = work();
  await waitFor(() => attempts() > 0, { what: 'the first attempt' });
  const clock = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => clock() + afterMs);
  let isDone = false;
  const end = () => {
    isDone = true;
  };
  done.then(end, end);
  const before = attempts();
  await waitFor(() => isDone || attempts() > before + 2, { what: 'further attempts' });
  expect(isDone).toBe(false);
  return { done };
}

it('claims are removed that a slow request makes final nine seconds later', async () => {
  await redis.set(claimKey(NAME), 'p:slow', 'PX', PENDING_TTL_MS);
  const { done } = await waiting(() => createClaimAdmin(redis).remove([NAME]), 9_000);
  await redis.set(claimKey(NAME), 'f:old');
  await done;
  expect(await redis.exists(claimKey(NAME))).toBe(0);
});

it('claims are changed that a slow request makes final nine seconds later', async () => {
  await redis.set(claimKey(NAME), 'p:slow', 'PX', PENDING_TTL_MS);
  const change = () => createClaimAdmin(redis).change([NAME], () => 'new');
  const { done } = await waiting(change, 9_000);
  await redis.set(claimKey(NAME), 'f:old');
  await done;
  expect(await redis.get(claimKey(NAME))).toBe('f:new');
});

it('work whose claim becomes final four seconds later does not run', async () => {
  await redis.set(claimKey(NAME), 'p:slow', 'PX', PENDING_TTL_MS);
  const work = vi.fn(async () => 1);
  const { done } = await waiting(() => createClaimAdmin(redis).runOnce(NAME, 1000, work), 4_000);
  await redis.set(claimKey(NAME), 'f:{}');
  expect([await done, work.mock.calls]).toEqual([undefined, []]);
});

it('work whose claim is released four seconds later runs', async () => {
  await redis.set(claimKey(NAME), 'p:slow', 'PX', PENDING_TTL_MS);
  const { done } = await waiting(() => createClaimAdmin(redis).runOnce(NAME, 1000, async () => 1), 4_000);
  await redis.del(claimKey(NAME));
  expect([await done, await redis.get(claimKey(NAME))]).toEqual([1, 'f:1']);
});

it('work whose claim a crashed process holds is to be tried again after five seconds', async () => {
  await redis.set(claimKey(NAME), 'p:killed', 'PX', PENDING_TTL_MS);
  const clock = performance.now.bind(performance);
  const work = vi.fn(async () => 1);
  const { done } = await waiting(() => createClaimAdmin(redis).runOnce(NAME, 1000, work), 4_000);
  vi.spyOn(performance, 'now').mockImplementation(() => clock() + 5_001);
  await expect(done).rejects.toMatchObject({ status: 500, retryAfterSeconds: 1 });
  expect(work).not.toHaveBeenCalled();
});

it('a claim that was taken more than eleven seconds ago, by a request that was killed, is not waited for', async () => {
  await redis.set(claimKey(NAME), 'p:killed', 'PX', PENDING_TTL_MS - 11_500);
  const claims = createClaimAdmin(redis);
  const takenMs = await elapsedMs(async () => {
    await claims.remove([NAME]);
    await claims.change([NAME], () => 'new');
  });
  expect(takenMs).toBeLessThan(15_000);
});

it.each(['runOnce', 'runAndRemove'] as const)(
  'a claim whose taking was not answered is free again soon, after %s',
  async (method) => {
    await redis.del(claimKey(NAME));
    const proxy = await startTcpProxy(server.port);
    const behind = new Redis(proxy.port);
    onTestFinished(async () => {
      behind.disconnect();
      await proxy.stop();
    });
    const claims = createClaimAdmin(behind);
    await behind.ping();
    proxy.holdAnswers();
    const running =
      method === 'runOnce' ? claims.runOnce(NAME, 1000, async () => 1) : claims.runAndRemove(NAME, async () => 1);
    await expect(running).rejects.toMatchObject({ status: 500, retryAfterSeconds: 1 });
    expect(await redis.get(claimKey(NAME))).toMatch(/^p:/);
    proxy.pass();
    // Before it expires.
    const isFree = async () => (await redis.exists(claimKey(NAME))) === 0;
    await waitFor(isFree, { what: 'the claim to be free', timeoutMs: 15_000 });
  },
);
