import { jobKey, queueDepths, WEBHOOK_QUEUE } from '@waymark/event-queue';
import { waitFor } from '@waymark/test-kit';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { removeEvents } from '../../src/delivery/job-data.js';
import { jobText, readJobData, type WebhookJobData, webhookJobId } from '../../src/delivery/webhook-job.js';
import { webhookEventIdOf } from '../../src/events/webhook-event-id.js';
import { jobSender } from '../job-sender.js';
import { startWebhookFixture, type WebhookFixture } from '../webhook-fixture.js';
import { type Receiver, startReceiver } from './receiver.js';

const TEXT = 'canary7q';

let fixture: WebhookFixture;
let receiver: Receiver;

beforeAll(async () => {
  fixture = await startWebhookFixture();
});
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(async () => {
  await fixture.reset();
  await receiver.stop();
});
afterAll(() => fixture.stop());

const untilCompleted = (jobs: number) =>
  waitFor(async () => (await fixture.queue.getCompletedCount()) === jobs, { what: 'finished jobs' });

const dataOf = async (jobId: string) =>
  readJobData(JSON.parse((await fixture.redis.hget(jobKey(WEBHOOK_QUEUE, jobId), 'data')) ?? ''));

it('a job that has ended keeps its id in Redis, and no body', async () => {
  await fixture.aHook(receiver.url, { triggers: ['link.updated'] });
  fixture.startWorker();
  await fixture.notifier.linkChanged('link.updated', await fixture.aLink({ comments: TEXT }));
  await untilCompleted(1);
  const [job] = await fixture.queue.getCompleted();
  expect(receiver.received[0]?.text).toContain(TEXT);
  expect(await dataOf(job?.id ?? '')).toMatchObject({ event: 'link.updated', events: [], eventIds: [] });
});

it('the bodies of a job can be taken out of a Redis that is full', async () => {
  const { id: webhookId, workspaceId } = await fixture.aHook(receiver.url);
  const events = [{ id: 'evt_1', body: JSON.stringify({ text: TEXT }) }];
  const jobId = webhookJobId(webhookId, 'full');
  const data = jobText({ workspaceId, webhookId, event: 'link.updated', events });
  await jobSender(fixture.redis).send([{ id: jobId, data }]);
  const [, before] = (await fixture.redis.config('GET', 'maxmemory')) as string[];
  await fixture.redis.config('SET', 'maxmemory', '1mb');
  try {
    await expect(fixture.redis.set('waymark-test-full', TEXT)).rejects.toThrow('OOM');
    await removeEvents(fixture.redis, jobId, readJobData(JSON.parse(data)) as WebhookJobData);
  } finally {
    await fixture.redis.config('SET', 'maxmemory', before ?? '0');
  }
  expect(await dataOf(jobId)).toMatchObject({ workspaceId, webhookId, events: [] });
});

it('events in ClickHouse are retried together, by their ids, and keep the ids under which they are delivered', async () => {
  const link = await fixture.aLink({ comments: TEXT });
  const clickIds = (await Promise.all([1, 2, 3].map(() => fixture.click(link)))).map((row) => String(row[2]));
  const stored = async () =>
    (await fixture.select(`SELECT 1 FROM click_events WHERE click_id IN ('${clickIds.join(`', '`)}')`)).length;
  await waitFor(async () => (await stored()) === 3, { what: 'the clicks to be stored' });
  // The writer has acknowledged them: it does not queue them for the webhook as well.
  await waitFor(async () => (await queueDepths(fixture.redis)).click.active === 0, { what: 'the writer' });
  const { id: webhookId, workspaceId } = await fixture.aHook(receiver.url, {
    ...{ triggers: ['link.clicked'], linkScope: 'workspace' },
  });
  const data = jobText({ workspaceId, webhookId, event: 'link.clicked', eventIds: clickIds });
  await jobSender(fixture.redis).send([{ id: webhookJobId(webhookId, 'clicks'), data }]);
  receiver.answer((response) => response.writeHead(503).end());
  fixture.startWorker();
  const [retry, ...others] = await waitFor(
    async () => {
      const delayed = await fixture.queue.getDelayed();
      return delayed.length > 0 && delayed;
    },
    { what: 'the retry' },
  );
  expect(others).toEqual([]);
  const queued = await dataOf(retry?.id ?? '');
  expect(queued).toMatchObject({ attempt: 2, events: [] });
  expect(new Set(queued?.eventIds)).toEqual(new Set(clickIds));
  await retry?.promote();
  await waitFor(() => receiver.received.length === 6, { what: 'the second attempts' });
  const delivered = receiver.received.map(({ event }) => event.id).sort();
  const ids = clickIds.map((id) => webhookEventIdOf('link.clicked', id));
  expect(delivered).toEqual([...ids, ...ids].sort());
});

it('a running job sends nothing more of a person who is erased meanwhile, and retries nothing of theirs', async () => {
  const customer = await fixture.aCustomer();
  const { id: webhookId, workspaceId } = await fixture.aHook(receiver.url);
  const events = Array.from({ length: 20 }, (_, index) => ({
    id: `evt_${index}`,
    body: JSON.stringify({ id: `evt_${index}`, data: { customer: { id: customer.id }, text: TEXT } }),
  }));
  const data = jobText({ workspaceId, webhookId, event: 'lead.created', events });
  await jobSender(fixture.redis).send([{ id: webhookJobId(webhookId, 'leads'), data }]);
  const answers: (() => void)[] = [];
  receiver.answer((response) => void answers.push(() => response.writeHead(500).end()));
  fixture.startWorker();
  await waitFor(() => receiver.received.length === 8, { what: 'attempts in progress' });
  const { erasures } = fixture.catalog;
  await erasures.accept(workspaceId, { externalId: customer.externalId, customerIds: [customer.id] }, 'anonymise');
  for (const answer of answers) answer();
  await untilCompleted(1);
  expect(receiver.received).toHaveLength(8);
  expect(await fixture.queue.getDelayedCount()).toBe(0);
});
