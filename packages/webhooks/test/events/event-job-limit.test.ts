import { memoryOf } from '@waymark/event-queue';
import { startRedis, type TestRedis, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { jobText, webhookJobId } from '../../src/delivery/webhook-job.js';
import { createEventJobLimit, type EventJobLimit, type PlannedJob } from '../../src/events/event-job-limit.js';
import { jobSender } from '../job-sender.js';

const [WORKSPACE, OTHER] = ['ws_00000000001', 'ws_00000000002'];
const [SLOW, FAST] = ['wh_00000000001', 'wh_00000000002'];
const hashKey = (workspaceId: string) => `{waymark}:state:webhook-ids:${workspaceId}`;
const SEARCHED = `{waymark}:state:webhook-ids-searched:${WORKSPACE}`;
const [CLICK_BOUND, LEAD_BOUND] = [32_000_000, 64_000_000];
/** More than a count and some jobs need. */
const AMPLE = '64mb';

let server: TestRedis;
let redis: Redis;
let dropped: [kind: string, deliveries: number][];
let lines: [context: object, message: string][];

beforeAll(async () => {
  server = await startRedis({ args: ['--maxmemory', AMPLE] });
  redis = new Redis(server.url);
});
beforeEach(async () => {
  await redis.config('SET', 'maxmemory', AMPLE);
  await redis.flushall();
  [dropped, lines] = [[], []];
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

/** A new limit, which has not read the use of memory yet. */
const aLimit = (): EventJobLimit =>
  createEventJobLimit({
    redis,
    onDropped: (kind, deliveries) => dropped.push([kind, deliveries]),
    logger: { debug: () => undefined, error: (context, message) => lines.push([context, message]) },
  });

const aJob = (webhookId: string, suffix: string, deliveries = 1): PlannedJob => {
  const eventIds = Array.from({ length: deliveries }, (_, index) => `event-${suffix}-${index}`);
  const data = jobText({ workspaceId: WORKSPACE, webhookId, event: 'link.clicked', eventIds });
  return { id: webhookJobId(webhookId, suffix), data, deliveries };
};
const prefixOf = (webhookId: string) => webhookJobId(webhookId, '');

/** Has jobs of a webhook with these bytes in the count. */
const countBytes = (bytes: number, webhookId = SLOW) =>
  redis.hset(hashKey(WORKSPACE), { sum: bytes, [`sum:${prefixOf(webhookId)}`]: bytes });

/** Makes the used memory of Redis this share of its limit. */
async function useMemory(share: number): Promise<void> {
  const { usedBytes } = memoryOf(await redis.info('memory'));
  await redis.config('SET', 'maxmemory', Math.round(usedBytes / share));
}

const idsOf = (jobs: readonly { id: string }[]) => jobs.map(({ id }) => id);

it('clicks of a workspace with 32 MB of jobs are not queued while Redis is above 65 %, and are reported', async () => {
  await countBytes(CLICK_BOUND);
  await useMemory(0.68);
  const limit = aLimit();
  expect(await limit.admit('click', WORKSPACE, [aJob(SLOW, 'a', 100), aJob(SLOW, 'b', 7)])).toEqual([]);
  expect(dropped).toEqual([['click', 107]]);
  expect(lines).toEqual([
    [
      { workspaceId: WORKSPACE, kind: 'click', deliveries: 107 },
      expect.stringContaining('webhook deliveries are dropped'),
    ],
  ]);
  expect(await redis.hlen(hashKey(WORKSPACE))).toBe(2);
});

it('other workspaces, and webhooks of the same one that are not behind, lose nothing', async () => {
  await countBytes(CLICK_BOUND);
  await redis.hset(hashKey(WORKSPACE), `sum:${prefixOf(FAST)}`, 319_999);
  await useMemory(0.68);
  const limit = aLimit();
  const jobs = [aJob(SLOW, 'a'), aJob(FAST, 'a')];
  expect(await limit.admit('click', OTHER, jobs)).toEqual(jobs);
  expect(idsOf(await limit.admit('click', WORKSPACE, jobs))).toEqual([webhookJobId(FAST, 'a')]);
  // That job has made it one that is behind.
  expect(idsOf(await limit.admit('click', WORKSPACE, [aJob(FAST, 'b')]))).toEqual([]);
  expect(dropped).toEqual([
    ['click', 1],
    ['click', 1],
  ]);
});

it('leads and sales are queued up to twice that bound', async () => {
  await countBytes(LEAD_BOUND - 1);
  await useMemory(0.68);
  const limit = aLimit();
  expect(await limit.admit('click', WORKSPACE, [aJob(SLOW, 'click')])).toEqual([]);
  expect(await limit.admit('lead', WORKSPACE, [aJob(SLOW, 'lead')])).toHaveLength(1);
  expect(await limit.admit('sale', WORKSPACE, [aJob(SLOW, 'sale')])).toEqual([]);
  expect(dropped).toEqual([
    ['click', 1],
    ['sale', 1],
  ]);
});

it('everything is queued, and counted, while Redis has room, and without a limit on its memory', async () => {
  await countBytes(10 * LEAD_BOUND);
  await useMemory(0.6);
  expect(await aLimit().admit('click', WORKSPACE, [aJob(SLOW, 'a')])).toHaveLength(1);
  await redis.config('SET', 'maxmemory', '0');
  expect(await aLimit().admit('click', WORKSPACE, [aJob(SLOW, 'b')])).toHaveLength(1);
  expect(await redis.hlen(hashKey(WORKSPACE))).toBe(4);
  expect(dropped).toEqual([]);
});

it('jobs of a workspace below the bound are queued however full Redis is', async () => {
  await countBytes(CLICK_BOUND - 1);
  await useMemory(0.97);
  expect(await aLimit().admit('click', WORKSPACE, [aJob(SLOW, 'a')])).toHaveLength(1);
});

it('the log has one line in ten seconds, with the number of those that it leaves out', async () => {
  await countBytes(CLICK_BOUND);
  await useMemory(0.68);
  const limit = aLimit();
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  for (const suffix of ['a', 'b', 'c']) await limit.admit('click', WORKSPACE, [aJob(SLOW, suffix)]);
  expect(lines).toHaveLength(1);
  vi.advanceTimersByTime(10_000);
  await limit.admit('click', WORKSPACE, [aJob(SLOW, 'd', 3)]);
  expect(lines[1]?.[0]).toEqual({ workspaceId: WORKSPACE, kind: 'click', deliveries: 3, suppressedLines: 2 });
});

it('an insert that is repeated after a kill has the same jobs, although the bound is reached since', async () => {
  const jobs = [aJob(SLOW, 'a'), aJob(SLOW, 'b')];
  await aLimit().admit('click', WORKSPACE, jobs);
  await redis.hset(hashKey(WORKSPACE), { sum: CLICK_BOUND, [`sum:${prefixOf(SLOW)}`]: CLICK_BOUND });
  await useMemory(0.68);
  expect(await aLimit().admit('click', WORKSPACE, jobs)).toEqual(jobs);
  expect(await redis.hget(hashKey(WORKSPACE), 'sum')).toBe(String(CLICK_BOUND));
});

it('jobs that were counted and never queued, or have ended without being removed, do not count for long', async () => {
  const waits = aJob(SLOW, 'waits');
  await jobSender(redis).send([waits]);
  await aLimit().admit('click', WORKSPACE, [waits]);
  const bytes = Number(await redis.hget(hashKey(WORKSPACE), 'sum'));
  // Counted in 1970.
  await redis.hset(hashKey(WORKSPACE), webhookJobId(SLOW, 'lost'), `${CLICK_BOUND} 1000`);
  await countBytes(bytes + CLICK_BOUND);
  await useMemory(0.68);
  expect(await aLimit().admit('click', WORKSPACE, [aJob(SLOW, 'a')])).toHaveLength(1);
  expect(dropped).toEqual([]);
  expect(await redis.hexists(hashKey(WORKSPACE), waits.id)).toBe(1);
  expect(await redis.exists(SEARCHED)).toBe(1);
});

it('a full Redis refuses the count: jobs are queued as before, except those of a workspace at its bound', async () => {
  await useMemory(1.2);
  const jobs = [aJob(SLOW, 'a')];
  await expect(redis.set('x', 'y')).rejects.toThrow('OOM');
  expect(await aLimit().admit('click', WORKSPACE, jobs)).toEqual(jobs);
  expect(await redis.exists(hashKey(WORKSPACE))).toBe(0);
  await redis.config('SET', 'maxmemory', AMPLE);
  await countBytes(CLICK_BOUND);
  await useMemory(1.2);
  expect(await aLimit().admit('click', WORKSPACE, jobs)).toEqual([]);
});

it('while Redis does not answer, or is away, jobs are queued as before after a second', async () => {
  const limit = aLimit();
  const jobs = [aJob(SLOW, 'a')];
  process.kill(server.pid, 'SIGSTOP');
  try {
    const startedMs = performance.now();
    expect(await limit.admit('click', WORKSPACE, jobs)).toEqual(jobs);
    expect(performance.now() - startedMs).toBeLessThan(3_000);
  } finally {
    process.kill(server.pid, 'SIGCONT');
  }
  // They are counted all the same.
  await waitFor(async () => (await redis.hexists(hashKey(WORKSPACE), jobs[0]?.id ?? '')) === 1, { what: 'the count' });
  const away = new Redis({ port: 1, lazyConnect: true, enableOfflineQueue: false, retryStrategy: () => null });
  away.on('error', () => undefined);
  const unconnected = createEventJobLimit({
    ...{ redis: away, onDropped: () => undefined },
    logger: { debug: () => undefined, error: () => undefined },
  });
  expect(await unconnected.admit('click', WORKSPACE, jobs)).toEqual(jobs);
});

it('many jobs of an insert are counted in several scripts', async () => {
  const jobs = Array.from({ length: 1_201 }, (_, index) => aJob(SLOW, `insert-${index}`));
  expect(await aLimit().admit('click', WORKSPACE, jobs)).toEqual(jobs);
  const bytes = jobs.reduce((sum, { data }) => sum + data.length + 1_000, 0);
  expect(Number(await redis.hget(hashKey(WORKSPACE), 'sum'))).toBe(bytes);
  expect(Number(await redis.hget(hashKey(WORKSPACE), `sum:${prefixOf(SLOW)}`))).toBe(bytes);
});
