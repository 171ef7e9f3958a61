import { createEventId } from '@waymark/contract';
import { waitFor } from '@waymark/test-kit';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { jobText, webhookJobId } from '../../src/delivery/webhook-job.js';
import { jobSender } from '../job-sender.js';
import { startWebhookFixture, type WebhookFixture } from '../webhook-fixture.js';

let fixture: WebhookFixture;

beforeAll(async () => {
  fixture = await startWebhookFixture();
});
afterEach(() => {
  vi.restoreAllMocks();
});
afterAll(() => fixture.stop());

it('a job that fails keeps the reason of its last failure, and no stack traces, also none of an earlier release', async () => {
  const hook = await fixture.aHook('http://127.0.0.1:9', { triggers: ['lead.created'] });
  const id = webhookJobId(hook.id, 'a');
  const eventIds = [createEventId(Date.now())];
  const data = jobText({ workspaceId: fixture.workspaceId, webhookId: hook.id, event: 'lead.created', eventIds });
  await jobSender(fixture.redis).send([{ id, data }]);
  await fixture.redis.hset(fixture.queue.toKey(id), 'stacktrace', JSON.stringify(['Error: of an earlier release']));
  vi.spyOn(fixture.database.client, 'rows').mockRejectedValue(new Error('ClickHouse is away'));
  fixture.startWorker();
  const failed = await waitFor(async () => (await fixture.queue.getDelayed())[0], { what: 'the failure' });
  expect(failed).toMatchObject({ id, failedReason: 'ClickHouse is away', stacktrace: [] });
});
