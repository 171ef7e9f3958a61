import { ApiError } from '@waymark/contract';
import { waitFor } from '@waymark/test-kit';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { createWebhookNotifier } from '../../src/index.js';
import { type Receiver, startReceiver } from '../delivery/receiver.js';
import { startWebhookFixture, type WebhookFixture } from '../webhook-fixture.js';

/** A link whose webhook has a megabyte. */
const LARGE = { image: `data:image/png;base64,${'A'.repeat(1_000_000)}` };
const REFUSED = { code: 'rate_limit_exceeded', retryAfterSeconds: expect.any(Number) };

let fixture: WebhookFixture;
let receiver: Receiver;

beforeAll(async () => {
  fixture = await startWebhookFixture();
});
beforeEach(async () => {
  receiver = await startReceiver();
  await fixture.aHook(receiver.url, { triggers: ['link.updated', 'partner.enrolled'] });
});
afterEach(async () => {
  await fixture.reset();
  await fixture.redis.del(waitingKey(), `{waymark}:state:webhook-bodies-searched:${fixture.workspaceId}`);
  await receiver.stop();
});
afterAll(() => fixture.stop());

const waitingKey = () => `{waymark}:state:webhook-bodies:${fixture.workspaceId}`;
const bytesWaiting = async () => Number(await fixture.redis.hget(waitingKey(), 'sum'));
/** Counts other deliveries of the workspace. */
const alreadyWait = (bytes: number) => fixture.redis.hset(waitingKey(), 'sum', bytes);

it('changes of a workspace are refused while 32 MB of its webhooks wait, and accepted when they are delivered', async () => {
  const { notifier, workspaceId } = fixture;
  await alreadyWait(31_500_000);
  await notifier.assertRoom(workspaceId, 'link.updated');
  await notifier.linkChanged('link.updated', await fixture.aLink(LARGE));
  const refusal = await notifier.assertRoom(workspaceId, 'link.updated').catch((err: unknown) => err);
  expect(refusal).toBeInstanceOf(ApiError);
  expect(refusal).toMatchObject(REFUSED);
  await expect(notifier.assertRoom(workspaceId, 'link.created', 'partner.enrolled')).rejects.toMatchObject(REFUSED);
  // No webhook gets these changes.
  await notifier.assertRoom(workspaceId, 'link.created', 'link.deleted');
  await notifier.assertRoom('ws_00000000001', 'link.updated');
  fixture.startWorker();
  await waitFor(() => notifier.assertRoom(workspaceId, 'link.updated').then(() => true), { what: 'room' });
  expect(receiver.received).toHaveLength(1);
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
