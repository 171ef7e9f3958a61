import type { ErasedPeople } from '@waymark/catalog';
import { jobKey, QUEUE_PREFIX, queueKey, WEBHOOK_QUEUE } from '@waymark/event-queue';
import { startRedis, type TestRedis } from '@waymark/test-kit';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { removeEvents } from '../../src/delivery/job-data.js';
import { createWaitingBodies } from '../../src/delivery/waiting-jobs.js';
import { jobText, readJobData, type WebhookJobData } from '../../src/delivery/webhook-job.js';
import { eraseWaitingBodies, eraseWebhookJobs } from '../../src/index.js';
import { jobSender } from '../job-sender.js';

const WORKSPACE = 'ws_00000000001';
const CANARY = 'canary5w';
const people: Pick<ErasedPeople, 'modeOfId' | 'modeOfClickId'> = {
  modeOfId: (workspaceId, id) => (workspaceId === WORKSPACE && id === 'cus_ann' ? 'anonymise' : undefined),
  modeOfClickId: (workspaceId, id) => (workspaceId === WORKSPACE && id === 'click-ann' ? 'delete' : undefined),
};

let server: TestRedis;
let redis: Redis;

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
});
beforeEach(() => redis.flushall());
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

const eventOf = (id: string, data: object) => ({ id, body: JSON.stringify({ id, data: { ...data, text: CANARY } }) });
const [ANN, BOB] = ['ann', 'bob'].map((name) => eventOf(`evt_${name}`, { customer: { id: `cus_${name}` } })) as [
  ReturnType<typeof eventOf>,
  ReturnType<typeof eventOf>,
];
const dataOf = async (id: string) =>
  readJobData(JSON.parse((await redis.hget(jobKey(WEBHOOK_QUEUE, id), 'data')) ?? ''));
const eventsOf = async (id: string) => (await dataOf(id))?.events.map((event) => event.id);

/** Queues a job with an event of Ann and one of Bob. */
async function queueJob(id: string, delayMs = 0): Promise<void> {
  const job = { workspaceId: WORKSPACE, webhookId: 'wh_1', event: 'lead.created' as const, events: [ANN, BOB] };
  await jobSender(redis).send([{ id, delayMs, data: jobText(job) }]);
}

/** The connection, with one command replaced. */
function connectionWith(name: 'hget' | 'zrange', command: (...args: string[]) => Promise<unknown>): Redis {
  return new Proxy(redis, {
    get(target, key) {
      if (key === name) return command;
      const value = target[key as keyof Redis] as unknown;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

it('queued and delayed jobs lose the bodies of an erased person, and keep those of others', async () => {
  const job = (id: string, workspaceId: string, delayMs: number) => ({
    ...{ id, delayMs },
    data: jobText({
      ...{ workspaceId, webhookId: 'wh_1', event: 'lead.created', eventIds: ['stored'] },
      events: [
        eventOf('evt_ann', { customer: { id: 'cus_ann' } }),
        eventOf('evt_click', { click: { id: 'click-ann' } }),
        eventOf('evt_bob', { customer: { id: 'cus_bob' }, click: { id: 'click-ann' } }),
      ],
    }),
  });
  await jobSender(redis).send([job('1-a', WORKSPACE, 0), job('1-b', WORKSPACE, 60_000), job('1-c', 'ws_2', 0)]);
  await eraseWebhookJobs(redis, people as ErasedPeople);
  expect(await Promise.all(['1-a', '1-b', '1-c'].map(eventsOf))).toEqual([
    ['evt_bob'],
    ['evt_bob'],
    ['evt_ann', 'evt_click', 'evt_bob'],
  ]);
});

it('a job that ends while it is read stays without bodies, also of other people', async () => {
  await queueJob('1-ends');
  const data = (await dataOf('1-ends')) as WebhookJobData;
  const ending = connectionWith('hget', async (key = '', field = '') => {
    const text = await redis.hget(key, field);
    await removeEvents(redis, '1-ends', data);
    return text;
  });
  await eraseWebhookJobs(ending, people as ErasedPeople);
  expect(await eventsOf('1-ends')).toEqual([]);
});

it('two erasures at the same time both remove their bodies', async () => {
  await queueJob('1-both');
  const others = {
    ...people,
    modeOfId: (_workspaceId: string, id: string) => (id === 'cus_bob' ? 'delete' : undefined),
  };
  let reads = 0;
  const interrupted = connectionWith('hget', async (key = '', field = '') => {
    const text = await redis.hget(key, field);
    reads += 1;
    if (reads === 1) await eraseWebhookJobs(redis, others as ErasedPeople);
    return text;
  });
  await eraseWebhookJobs(interrupted, people as ErasedPeople);
  expect(await eventsOf('1-both')).toEqual([]);
});

it('a job that becomes due while the jobs are listed loses its bodies as well', async () => {
  await queueJob('1-due', 60_000);
  const queue = new Queue(WEBHOOK_QUEUE, { connection: redis, prefix: QUEUE_PREFIX });
  const moving = connectionWith('zrange', async (key = '', start = '', end = '') => {
    await (await queue.getJob('1-due'))?.promote();
    return redis.zrange(key, start, end);
  });
  await eraseWebhookJobs(moving, people as ErasedPeople);
  expect(await eventsOf('1-due')).toEqual(['evt_bob']);
  await queue.close();
});

it('an erasure reads only those jobs of its workspace that have bodies, whether they wait, run or are delayed', async () => {
  const events = [ANN, BOB];
  const job = (id: string, fields: Partial<WebhookJobData>, delayMs = 0) => ({
    ...{ id, delayMs },
    data: jobText({ workspaceId: WORKSPACE, webhookId: 'wh_1', event: 'lead.created', ...fields }),
  });
  const counted = [job('1-waits', { events }), job('1-delayed', { events }, 60_000), job('1-runs', { events })];
  const waiting = createWaitingBodies(redis);
  await waiting.add(WORKSPACE, counted);
  await waiting.add('ws_2', [job('2-waits', { workspaceId: 'ws_2', events })]);
  await jobSender(redis).send([
    ...counted,
    job('1-ids', { eventIds: ['stored'] }),
    job('2-waits', { workspaceId: 'ws_2', events }),
  ]);
  await redis.lrem(queueKey(WEBHOOK_QUEUE, 'wait'), 0, '1-runs');
  await redis.lpush(queueKey(WEBHOOK_QUEUE, 'active'), '1-runs');
  const read: string[] = [];
  const watched = connectionWith('hget', async (key = '', field = '') => {
    read.push(key);
    return redis.hget(key, field);
  });
  await eraseWaitingBodies(watched, people as ErasedPeople, WORKSPACE);
  const ids = counted.map(({ id }) => id);
  expect(await Promise.all(ids.map(eventsOf))).toEqual([['evt_bob'], ['evt_bob'], ['evt_bob']]);
  expect(new Set(read)).toEqual(new Set(ids.map((id) => jobKey(WEBHOOK_QUEUE, id))));
});
