import type { WebhookJob } from '@waymark/event-queue';
import { startRedis, type TestRedis } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { createWaitingBodies, type WaitingBodies } from '../../src/delivery/waiting-jobs.js';
import { jobText, readJobData, webhookJobId } from '../../src/delivery/webhook-job.js';
import { jobSender } from '../job-sender.js';

const WORKSPACE = 'ws_1';
const OTHER = 'ws_2';
const KEY = `{waymark}:state:webhook-bodies:${WORKSPACE}`;
const aJob = (id: string): WebhookJob => ({ id, data: 'x'.repeat(9_000) });
const BYTES = 10_000;

let server: TestRedis;
let redis: Redis;
let waiting: WaitingBodies;

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
  waiting = createWaitingBodies(redis);
});
beforeEach(() => redis.flushall());
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

/** Queues jobs and counts them. */
async function queued(...ids: string[]): Promise<void> {
  const jobs = ids.map(aJob);
  await jobSender(redis).send(jobs);
  expect(await waiting.add(WORKSPACE, jobs)).toBe(true);
}

it('a job counts once, with a kilobyte besides its data, until it has ended', async () => {
  await queued('1-a', '1-b');
  await queued('1-a');
  expect(await waiting.isBelow(WORKSPACE, 2 * BYTES)).toBe(false);
  expect(await waiting.isBelow(WORKSPACE, 2 * BYTES + 1)).toBe(true);
  expect(await waiting.isBelow(OTHER, 1)).toBe(true);
  await waiting.remove(WORKSPACE, '1-a');
  await waiting.remove(WORKSPACE, '1-a');
  expect(await waiting.isBelow(WORKSPACE, BYTES)).toBe(false);
  expect(await waiting.isBelow(WORKSPACE, BYTES + 1)).toBe(true);
  await waiting.remove(WORKSPACE, '1-b');
  expect(await redis.keys('*webhook-bodies:*')).toEqual([]);
});

it('no job is added above the limit, but those that are counted already', async () => {
  await queued('1-a');
  expect(await waiting.add(WORKSPACE, [aJob('1-b')], BYTES)).toBe(false);
  expect(await waiting.add(WORKSPACE, [aJob('1-a')], BYTES)).toBe(true);
  expect(await waiting.isBelow(WORKSPACE, BYTES + 1)).toBe(true);
});

it('jobs that have ended without being removed, as when a process is killed, do not count for ever', async () => {
  await queued('1-waits', '1-ended');
  await redis.hset('{waymark}:webhook:1-ended', 'finishedOn', Date.now());
  // Counted in 1970, and never queued.
  await redis.hset(KEY, '1-lost', `${BYTES} 1000`);
  await redis.hincrby(KEY, 'sum', BYTES);
  expect(await waiting.isBelow(WORKSPACE, BYTES + 1)).toBe(true);
  expect(await waiting.isBelow(WORKSPACE, BYTES)).toBe(false);
});

it('jobs of a webhook that was disabled or deleted lose their bodies and do not count any more; those of others stay', async () => {
  const dataOf = (webhookId: string) =>
    jobText({ workspaceId: WORKSPACE, webhookId, event: 'link.updated', events: [{ id: 'evt_1', body: '{}' }] });
  const [stopped, other] = ['wh_00000000001', 'wh_0000000000b'];
  const jobs = [stopped, other].flatMap((id) => [
    { id: webhookJobId(id, 'waits'), data: dataOf(id) },
    { id: webhookJobId(id, 'delayed'), data: dataOf(id), delayMs: 3_600_000 },
  ]);
  await jobSender(redis).send(jobs);
  await waiting.add(WORKSPACE, jobs);
  const each = Buffer.byteLength(dataOf(stopped)) + 1_000;
  expect(await waiting.bytesOf(WORKSPACE, [stopped, other])).toEqual([2 * each, 2 * each]);
  const isDisabled = async () => ({ disabledAt: '2026-01-01T00:00:00.000Z' });
  await waiting.drop(WORKSPACE, stopped, isDisabled);
  await waiting.drop(WORKSPACE, stopped, isDisabled);
  expect(await waiting.bytesOf(WORKSPACE, [stopped, other])).toEqual([0, 2 * each]);
  expect(await waiting.isBelow(WORKSPACE, 2 * each + 1)).toBe(true);
  const bodies = jobs.map(async ({ id }) => {
    const data = readJobData(JSON.parse((await redis.hget(`{waymark}:webhook:${id}`, 'data')) ?? ''));
    return data?.events.length;
  });
  expect(await Promise.all(bodies)).toEqual([0, 0, 1, 1]);
  await waiting.drop(WORKSPACE, other, async () => undefined);
  expect(await redis.exists(KEY)).toBe(0);
});

it('a job that is about to be queued counts', async () => {
  await waiting.add(WORKSPACE, [aJob('1-soon')]);
  expect(await waiting.isBelow(WORKSPACE, BYTES)).toBe(false);
});
