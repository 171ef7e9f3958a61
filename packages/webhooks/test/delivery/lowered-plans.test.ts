import type { Plan } from '@waymark/contract';
import { waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startWebhookFixture, type WebhookFixture } from '../webhook-fixture.js';
import { type Receiver, startReceiver } from './receiver.js';

let fixture: WebhookFixture;
let receiver: Receiver;

beforeAll(async () => {
  fixture = await startWebhookFixture();
  receiver = await startReceiver();
});
afterAll(async () => {
  await fixture.stop();
  await receiver.stop();
});

const setPlan = (plan: Plan) => fixture.catalog.workspaces.update(fixture.workspaceId, { plan });
const queued = () => fixture.queue.getJobCountByTypes('waiting', 'active', 'delayed', 'completed', 'failed');
const eventsSent = () => receiver.received.map(({ event }) => event.event);

test('webhooks of a workspace below business are paused, and get later events when the plan is raised again', async () => {
  const { catalog, workspaceId, notifier } = fixture;
  const link = await fixture.aLink();
  const hook = await fixture.aHook(receiver.url, {
    ...{ triggers: ['link.clicked', 'link.updated'], linkScope: 'workspace' },
  });
  await fixture.click(link);
  await notifier.linkChanged('link.updated', link);
  await waitFor(async () => (await queued()) === 2, { what: 'both jobs' });

  await setPlan('pro');
  fixture.startWorker();
  await waitFor(async () => (await fixture.queue.getCompletedCount()) === 2, {
    what: 'the end of the jobs that waited',
  });
  await fixture.click(link);
  await notifier.linkChanged('link.updated', link);
  const clicks = () => fixture.select<{ n: string }>('SELECT toString(count()) AS n FROM click_events');
  await waitFor(async () => JSON.stringify(await clicks()).includes('2'), { what: 'the click' });
  expect([await queued(), eventsSent()]).toEqual([2, []]);

  await setPlan('business');
  await fixture.click(link);
  await notifier.linkChanged('link.updated', link);
  await waitFor(() => receiver.received.length === 2, { what: 'both later events' });
  expect([await queued(), eventsSent().sort()]).toEqual([4, ['link.clicked', 'link.updated']]);
  expect(await catalog.webhooks.get(workspaceId, hook.id)).toMatchObject({ disabledAt: null, consecutiveFailures: 0 });
});
