import type { LinkRecord } from '@waymark/catalog';
import { waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isOverQuota } from '../../src/delivery/plan-check.js';
import { startWebhookFixture, type WebhookFixture } from '../webhook-fixture.js';
import { type Receiver, startReceiver } from './receiver.js';

let fixture: WebhookFixture;
let receiver: Receiver;

beforeAll(async () => {
  fixture = await startWebhookFixture();
  receiver = await startReceiver();
  fixture.startWorker();
});
afterAll(async () => {
  await fixture.stop();
  await receiver.stop();
});

/** Records a click. @returns whether it was sent to the webhook */
async function isClickSent(link: LinkRecord): Promise<boolean> {
  const sent = receiver.received.length;
  const jobs = await fixture.queue.getCompletedCount();
  await fixture.click(link);
  await waitFor(async () => (await fixture.queue.getCompletedCount()) > jobs, { what: 'the job of the click' });
  return receiver.received.length > sent;
}

test.each([
  [2, false],
  [3, true],
  [4, true],
])('after %i events, a quota of three is used up: %s', async (events, isOver) => {
  const eventUsage = { ...fixture.catalog.eventUsage, thisMonth: async () => events };
  await fixture.catalog.workspaces.update(fixture.workspaceId, { quotas: { eventsPerMonth: 3 } });
  expect(await isOverQuota({ ...fixture.catalog, eventUsage }, fixture.workspaceId)).toBe(isOver);
});

test('clicks are sent until the monthly quota of events is used up', async () => {
  const link = await fixture.aLink();
  await fixture.aHook(receiver.url, { triggers: ['link.clicked'], linkScope: 'workspace' });
  await fixture.catalog.workspaces.update(fixture.workspaceId, { quotas: { eventsPerMonth: 3 } });
  expect(await isClickSent(link)).toBe(true);
  await waitFor(async () => !(await isClickSent(link)), { what: 'a click that is not sent' });
  expect(await isClickSent(link)).toBe(false);
});
