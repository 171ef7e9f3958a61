import type { ServerResponse } from 'node:http';
import type { WebhookRecord } from '@waymark/catalog';
import { waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { jobText, webhookJobId } from '../../src/delivery/webhook-job.js';
import { createWebhookEventId } from '../../src/events/webhook-event-id.js';
import { jobSender } from '../job-sender.js';
import { startWebhookFixture, type WebhookFixture } from '../webhook-fixture.js';
import { startReceiver } from './receiver.js';

/** As many webhooks as would fill every slot, four each. */
const WEBHOOKS = 16;
const JOBS_EACH = 20;

let fixture: WebhookFixture;

beforeAll(async () => {
  fixture = await startWebhookFixture();
});
afterAll(() => fixture.stop());

async function queueJobs({ id: webhookId, workspaceId }: WebhookRecord, jobs: number): Promise<void> {
  const aJob = () => {
    const event = { id: createWebhookEventId(), body: '{}' };
    const data = jobText({ webhookId, workspaceId, event: 'link.updated', events: [event] });
    return { id: webhookJobId(webhookId, event.id), data };
  };
  await jobSender(fixture.redis).send(Array.from({ length: jobs }, aJob));
}

it('a workspace whose many webhooks wait for their receivers does not hold up those of other workspaces', async () => {
  const { webhooks, workspaces } = fixture.catalog;
  const [slow, quick] = await Promise.all([startReceiver(), startReceiver()]);
  const held: ServerResponse[] = [];
  slow.answer((response) => void held.push(response));
  onTestFinished(async () => {
    slow.answer((response) => void response.end());
    for (const response of held) response.end();
    await fixture.reset();
    await Promise.all([slow.stop(), quick.stop()]);
  });
  for (let count = 0; count < WEBHOOKS; count++) {
    await queueJobs(await fixture.aHook(`${slow.url}/${count}`, { triggers: ['link.updated'] }), JOBS_EACH);
  }
  fixture.startWorker({ timeoutMs: 120_000 });
  // The workspace holds as many slots as it may.
  await waitFor(() => slow.received.length >= 32, { what: 'the slow workspace to be busy' });
  const { workspace } = await workspaces.create({
    name: 'Beta',
    slug: 'beta',
    plan: 'enterprise',
    domain: 'beta.example',
  });
  const fields = { name: 'Quick', url: quick.url, triggers: ['link.updated' as const] };
  await queueJobs(await webhooks.create(workspace.id, fields), 8);
  await waitFor(() => quick.received.length === 8, {
    ...{ what: 'the deliveries of the other workspace', timeoutMs: 30_000 },
  });
  expect(slow.received.length).toBe(32);
});
