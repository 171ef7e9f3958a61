import { setImmediate as nextTurn } from 'node:timers/promises';
import { answerWithin } from '@waymark/cache';
import { createOutbound, type Outbound } from '@waymark/outbound';
import { waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createDeliveryLog } from '../../src/delivery/delivery-log.js';
import { createFailureCounts } from '../../src/delivery/failure-counts.js';
import { jobText, webhookJobId } from '../../src/delivery/webhook-job.js';
import { createWebhookEventId } from '../../src/events/webhook-event-id.js';
import { jobSender } from '../job-sender.js';
import { startWebhookFixture, type WebhookFixture } from '../webhook-fixture.js';
import { type Receiver, startReceiver } from './receiver.js';

let fixture: WebhookFixture;
let receiver: Receiver;

beforeAll(async () => {
  [fixture, receiver] = await Promise.all([startWebhookFixture(), startReceiver()]);
});
afterAll(async () => {
  await fixture.stop();
  await receiver.stop();
});

it('closing a worker waits for its attempts until a time limit; those that take longer stay queued, and are not counted', async () => {
  receiver.answer(() => undefined);
  const hook = await fixture.aHook(receiver.url, { triggers: ['link.updated'] });
  const events = Array.from({ length: 8 }, () => ({ id: createWebhookEventId(), body: JSON.stringify({}) }));
  const { workspaceId } = fixture;
  const data = jobText({ webhookId: hook.id, workspaceId, event: 'link.updated', events });
  const id = webhookJobId(hook.id, 'a');
  await jobSender(fixture.redis).send([{ id, data }]);

  const outbound = createOutbound({ allowedRanges: ['127.0.0.0/8'] });
  const attempts: ReturnType<Outbound['send']>[] = [];
  const send: Outbound['send'] = (request) => {
    const attempt = outbound.send(request);
    attempts.push(attempt);
    return attempt;
  };
  const worker = fixture.startWorker({ timeoutMs: 600_000, closeMs: 100, outbound: { ...outbound, send } });
  await waitFor(() => receiver.received.length === 8, { what: 'attempts in progress' });
  await answerWithin(worker.close(), 10_000, 'closing the worker');
  expect(attempts).toHaveLength(8);
  outbound.close();
  await Promise.allSettled(attempts);
  // What the worker does at the end of an attempt has been sent by now.
  await nextTurn();
  await fixture.redis.ping();

  expect(await createFailureCounts(fixture.redis).read(hook)).toBe(0);
  const [job] = await fixture.queue.getActive();
  expect([job?.id, job?.data, await fixture.queue.getDelayedCount()]).toEqual([id, JSON.parse(data), 0]);
});

it('an attempt that ends after the log was closed is not logged: it is repeated', async () => {
  const log = createDeliveryLog(fixture.database.client);
  await log.close();
  const text = { eventId: createWebhookEventId(), url: receiver.url, error: '', requestBody: '{}', responseBody: '' };
  const { id: webhookId, workspaceId } = await fixture.aHook(`${receiver.url}/log`);
  const numbers = { attempt: 1, startedMs: Date.now(), status: 200, elapsedMs: 1 };
  await log.add({ ...text, ...numbers, workspaceId, webhookId, event: 'link.updated' });
  await log.close();
  expect(await fixture.select(`SELECT event_id FROM webhook_deliveries WHERE event_id = '${text.eventId}'`)).toEqual(
    [],
  );
});
