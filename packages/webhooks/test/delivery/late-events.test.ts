import { createEventId } from '@waymark/contract';
import { queueDepths } from '@waymark/event-queue';
import { waitFor } from '@waymark/test-kit';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { jobText, readJobData, webhookJobId } from '../../src/delivery/webhook-job.js';
import { jobSender } from '../job-sender.js';
import { startWebhookFixture, type WebhookFixture } from '../webhook-fixture.js';
import { type Receiver, startReceiver } from './receiver.js';

let fixture: WebhookFixture;
let receiver: Receiver;

beforeAll(async () => {
  fixture = await startWebhookFixture();
});
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await fixture.reset();
  await receiver.stop();
});
afterAll(() => fixture.stop());

const logged: { readonly context: object; readonly message: string }[] = [];
const nothing = () => undefined;
const warn = (context: object, message: string) => void logged.push({ context, message });
const logger = { debug: nothing, info: nothing, warn, error: nothing };
const linesAbout = (text: string) => logged.filter(({ message }) => message.includes(text));

/** Queues a job with a click that is stored and one that is not. @returns the id of the other one */
async function queueJob(): Promise<string> {
  const click = await fixture.click(await fixture.aLink());
  const clickId = String(click[2]);
  // Until it is acknowledged, the writer may find the webhook, and send the click to it as well.
  const isAcknowledged = async () => {
    const { click: depth } = await queueDepths(fixture.redis);
    return depth !== undefined && depth.waiting + depth.active + depth.delayed === 0;
  };
  await waitFor(isAcknowledged, { what: 'the click to be acknowledged' });
  const hook = await fixture.aHook(receiver.url, { triggers: ['link.clicked'], linkScope: 'workspace' });
  const missing = createEventId(Date.now());
  const data = jobText({
    ...{ workspaceId: fixture.workspaceId, webhookId: hook.id, event: 'link.clicked', eventIds: [missing, clickId] },
  });
  await jobSender(fixture.redis).send([{ id: webhookJobId(hook.id, 'a'), data }]);
  return missing;
}

/** Makes look-ups on all replicas fail as `fail` does. */
function failLookUps(fail: () => Promise<never>): void {
  const { client } = fixture.database;
  const rows = client.rows.bind(client);
  vi.spyOn(client, 'rows').mockImplementation((read) =>
    read.query.includes('clusterAllReplicas') ? fail() : rows(read),
  );
}

it('events that may exist are looked up again and again, while the others of their job are delivered', async () => {
  const missing = await queueJob();
  const cause = new Error('no replica answers');
  failLookUps(() => Promise.reject(cause));
  fixture.startWorker({ cluster: 'away', logger });
  await waitFor(() => receiver.received.length > 0, { what: 'the delivery of the click that is stored' });
  const ids = new Set<string>();
  for (let time = 0; time < 2; time++) {
    const job = await waitFor(
      async () => (await fixture.queue.getDelayed()).find(({ id = '' }) => id.includes('-late-') && !ids.has(id)),
      { what: 'a job that looks the other up' },
    );
    expect(readJobData(job.data)).toMatchObject({ eventIds: [missing], attempt: 1, lookUp: { round: time + 1 } });
    expect(job.opts.delay).toBe(10_000 * 2 ** time);
    ids.add(job.id ?? '');
    await job.promote();
  }
  await waitFor(async () => (await fixture.queue.getDelayed()).length > 0, { what: 'the next one' });
  expect(receiver.received).toHaveLength(1);
  expect(linesAbout('delivered later')[0]?.context).toMatchObject({ err: cause, events: 1, eventIds: [missing] });
});

it('a look-up that ClickHouse refuses fails its job, with the reason', async () => {
  await queueJob();
  failLookUps(() => fixture.select('SELECT no_such_column FROM click_events') as Promise<never>);
  fixture.startWorker({ cluster: 'away', logger });
  const line = await waitFor(() => linesAbout('job failed')[0], { what: 'the failure of the job' });
  expect(line.context).toMatchObject({ err: { message: expect.stringContaining('no_such_column') } });
  expect(receiver.received).toHaveLength(0);
});

it('on one node, an event that does not exist is dropped, with a line in the log', async () => {
  const missing = await queueJob();
  fixture.startWorker({ logger });
  await waitFor(() => receiver.received.length > 0, { what: 'the delivery of the click that is stored' });
  await waitFor(async () => (await fixture.queue.getJobCountByTypes('wait', 'active', 'delayed')) === 0, {
    what: 'no job',
  });
  expect(linesAbout('are not stored')).toMatchObject([{ context: { events: 1, eventIds: [missing] } }]);
});
