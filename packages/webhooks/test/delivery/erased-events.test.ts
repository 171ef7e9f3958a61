import type { ErasedPeople } from '@waymark/catalog';
import { createWebhookJobSender, jobKey, WEBHOOK_QUEUE } from '@waymark/event-queue';
import { startRedis, type TestRedis } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { jobText, readJobData } from '../../src/delivery/webhook-job.js';
import { eraseWebhookJobs } from '../../src/index.js';

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
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

it('queued and delayed jobs lose the bodies of an erased person, and keep those of others', async () => {
  const eventOf = (id: string, data: object) => ({ id, body: JSON.stringify({ id, data: { ...data, text: CANARY } }) });
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
  await createWebhookJobSender(redis).send([
    job('1-a', WORKSPACE, 0),
    job('1-b', WORKSPACE, 60_000),
    job('1-c', 'ws_2', 0),
  ]);
  await eraseWebhookJobs(redis, people as ErasedPeople);
  const eventsOf = async (id: string) =>
    readJobData(JSON.parse((await redis.hget(jobKey(WEBHOOK_QUEUE, id), 'data')) ?? ''))?.events.map(
      (event) => event.id,
    );
  expect(await Promise.all(['1-a', '1-b', '1-c'].map(eventsOf))).toEqual([
    ['evt_bob'],
    ['evt_bob'],
    ['evt_ann', 'evt_click', 'evt_bob'],
  ]);
});
