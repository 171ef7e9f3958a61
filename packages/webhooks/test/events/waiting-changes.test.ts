import { ApiError, parseResourceId } from '@waymark/contract';
import { waitFor } from '@waymark/test-kit';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { createFailureCounts } from '../../src/delivery/failure-counts.js';
import { createWaitingBodies } from '../../src/delivery/waiting-jobs.js';
import { jobText, webhookJobId } from '../../src/delivery/webhook-job.js';
import { createWebhookNotifier } from '../../src/index.js';
import { type Receiver, startReceiver } from '../delivery/receiver.js';
import { jobSender } from '../job-sender.js';
import { startWebhookFixture, type WebhookFixture } from '../webhook-fixture.js';

/** A link whose webhook has a megabyte. */
const LARGE = { image: `data:image/png;base64,${'A'.repeat(1_000_000)}` };
const REFUSED = { code: 'rate_limit_exceeded', retryAfterSeconds: expect.any(Number) };

let fixture: WebhookFixture;
let receiver: Receiver;
let hook: Awaited<ReturnType<WebhookFixture['aHook']>>;

beforeAll(async () => {
  fixture = await startWebhookFixture();
});
beforeEach(async () => {
  receiver = await startReceiver();
  hook = await fixture.aHook(receiver.url, { triggers: ['link.updated', 'partner.enrolled'] });
});
afterEach(async () => {
  await fixture.reset();
  await fixture.redis.del(waitingKey(), `{waymark}:state:webhook-bodies-searched:${fixture.workspaceId}`);
  await receiver.stop();
});
afterAll(() => fixture.stop());

const waitingKey = () => `{waymark}:state:webhook-bodies:${fixture.workspaceId}`;
const bytesWaiting = async () => Number(await fixture.redis.hget(waitingKey(), 'sum'));
/** Counts other deliveries of a webhook of the workspace. */
const alreadyWait = (bytes: number, webhookId = hook.id) =>
  fixture.redis.hset(waitingKey(), { sum: bytes, [`sum:${parseResourceId('webhook', webhookId)}-`]: bytes });

it('changes of a workspace are refused while 32 MB of its webhooks wait, and accepted when they are delivered', async () => {
  const { notifier, workspaceId } = fixture;
  await alreadyWait(31_500_000);
  await notifier.assertQueueCapacity(workspaceId, 'link.updated');
  await notifier.linkChanged('link.updated', await fixture.aLink(LARGE));
  const refusal = await notifier.assertQueueCapacity(workspaceId, 'link.updated').catch((err: unknown) => err);
  expect(refusal).toBeInstanceOf(ApiError);
  expect(refusal).toMatchObject(REFUSED);
  await expect(notifier.assertQueueCapacity(workspaceId, 'link.created', 'partner.enrolled')).rejects.toMatchObject(
    REFUSED,
  );
  // No webhook gets these changes.
  await notifier.assertQueueCapacity(workspaceId, 'link.created');
  await notifier.assertQueueCapacity('ws_00000000001', 'link.updated');
  fixture.startWorker();
  await waitFor(() => notifier.assertQueueCapacity(workspaceId, 'link.updated').then(() => true), {
    what: 'an accepted change',
  });
  expect(receiver.received).toHaveLength(1);
});

it('the message of the refusal has the bytes that wait, for which webhook, and what to do', async () => {
  await alreadyWait(40_200_000);
  const refusal = fixture.notifier.assertQueueCapacity(fixture.workspaceId, 'link.updated');
  await expect(refusal).rejects.toThrow(
    `The webhooks of this workspace have 32 MB or more of deliveries that wait, because receivers are slow or fail. 40.2 MB of them are for ${hook.id}, which would get this change too. Try again later, make the receiver faster, disable or delete the webhook, or use the bulk routes for links, which send no webhooks.`,
  );
});

it('changes that go only to webhooks that are not behind are accepted while those of others wait', async () => {
  const { notifier, workspaceId } = fixture;
  const quick = await startReceiver();
  const { id: quickId } = await fixture.aHook(quick.url, { triggers: ['link.created'] });
  await alreadyWait(40_000_000);
  await alreadyWait(40_000_000, quickId);
  await fixture.redis.hset(waitingKey(), `sum:${parseResourceId('webhook', quickId)}-`, 319_999);
  await notifier.assertQueueCapacity(workspaceId, 'link.created');
  await expect(notifier.assertQueueCapacity(workspaceId, 'link.created', 'partner.enrolled')).rejects.toMatchObject(
    REFUSED,
  );
  await notifier.linkChanged('link.created', await fixture.aLink());
  await expect(notifier.assertQueueCapacity(workspaceId, 'link.created')).rejects.toMatchObject(REFUSED);
  await quick.stop();
});

it('deliveries of a webhook that fails too often count no longer when it is disabled', async () => {
  const { redis, workspaceId, queue } = fixture;
  const late = { id: 'evt_late', body: JSON.stringify(LARGE) };
  const data = jobText({ workspaceId, webhookId: hook.id, event: 'link.updated', attempt: 4, events: [late] });
  const job = { id: webhookJobId(hook.id, late.id), data, delayMs: 3_600_000 };
  await createWaitingBodies(redis).add(workspaceId, [job]);
  await jobSender(redis).send([job]);
  const failures = createFailureCounts(redis);
  for (let count = 0; count < 19; count++) await failures.add(hook);
  receiver.answer((response) => response.writeHead(500).end());
  fixture.startWorker();
  await fixture.notifier.linkChanged('link.updated', await fixture.aLink());
  await waitFor(async () => (await bytesWaiting()) === 0, { what: 'no delivery to count' });
  expect((await queue.getJob(job.id))?.data).toMatchObject({ eventIds: [], told: [] });
});

it('deliveries of a webhook that was enabled again before they were removed stay', async () => {
  const { catalog, redis, notifier, queue, workspaceId } = fixture;
  const event = { id: 'evt_again', body: '{}' };
  const data = jobText({ workspaceId, webhookId: hook.id, event: 'link.updated', events: [event] });
  const job = { id: webhookJobId(hook.id, event.id), data };
  await createWaitingBodies(redis).add(workspaceId, [job]);
  await jobSender(redis).send([job]);
  const bytes = await bytesWaiting();
  await notifier.webhookStopped(workspaceId, hook.id);
  expect((await queue.getJob(job.id))?.data).toMatchObject({ told: [event] });
  expect(await bytesWaiting()).toBe(bytes);
  await catalog.webhooks.update(workspaceId, hook.id, () => ({ disabledAt: new Date().toISOString() }));
  await notifier.webhookStopped(workspaceId, hook.id);
  expect((await queue.getJob(job.id))?.data).toMatchObject({ told: [] });
  expect(await bytesWaiting()).toBe(0);
});

it('never more than 64 MB and one change wait in Redis; the process queues the others when there is room', async () => {
  const { catalog, redis } = fixture;
  const logger = { debug: () => undefined, error: () => undefined };
  const pausesMs = Array.from({ length: 1000 }, () => 100);
  const notifier = createWebhookNotifier({ catalog, queueShards: [redis], logger, now: Date.now, pausesMs });
  await alreadyWait(63_500_000);
  const link = await fixture.aLink(LARGE);
  await Promise.all(Array.from({ length: 5 }, () => notifier.linkChanged('link.updated', link)));
  expect(await fixture.queue.getWaitingCount()).toBe(1);
  expect(await bytesWaiting()).toBeLessThan(65_000_000);
  fixture.startWorker();
  await waitFor(() => receiver.received.length === 5, { what: 'all deliveries' });
  notifier.close();
});

it('a delivery that fails counts while it waits for its next attempt', async () => {
  receiver.answer((response) => response.writeHead(500).end());
  fixture.startWorker();
  await fixture.notifier.linkChanged('link.updated', await fixture.aLink(LARGE));
  await waitFor(async () => (await fixture.queue.getDelayedCount()) === 1, { what: 'the retry' });
  await waitFor(async () => (await fixture.queue.getActiveCount()) === 0, { what: 'the end of the first attempt' });
  const bytes = await bytesWaiting();
  expect(bytes).toBeGreaterThan(1_000_000);
  expect(bytes).toBeLessThan(1_100_000);
});
