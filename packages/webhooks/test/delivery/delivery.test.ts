import type { ServerResponse } from 'node:http';
import type { WebhookRecord } from '@waymark/catalog';
import { waitFor } from '@waymark/test-kit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createFailureCounts } from '../../src/delivery/failure-counts.js';
import { jobText, webhookJobId } from '../../src/delivery/webhook-job.js';
import { createWebhookEventId } from '../../src/events/webhook-event-id.js';
import { jobSender } from '../job-sender.js';
import { SILENT, startWebhookFixture, type WebhookFixture } from '../webhook-fixture.js';
import { type Receiver, startReceiver } from './receiver.js';

/** The limits per webhook and process, in concurrency-limit.ts and deliver-job.ts. */
const JOBS_AT_ONCE = 4;
const ATTEMPTS_AT_ONCE = JOBS_AT_ONCE * 8;
/** The fields that `PATCH /webhooks/{id}` sets when it enables a webhook. */
const ENABLED = { disabledAt: null, consecutiveFailures: 0 };

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

interface LogLine {
  readonly attempt: number;
  readonly status: number;
  readonly error: string;
  readonly url: string;
  readonly event: string;
  readonly event_id: string;
  readonly request_body: string;
  readonly response_body: string;
}

const aLinkHook = (url = receiver.url) => fixture.aHook(url, { triggers: ['link.updated'] });

async function notify(times = 1): Promise<void> {
  const link = await fixture.aLink();
  for (let time = 0; time < times; time++) await fixture.notifier.linkChanged('link.updated', link);
}

/** Queues jobs with so many events each; the body of an event contains the number of its job. */
async function queueJobs({ id: webhookId, workspaceId }: WebhookRecord, jobs: number, events: number): Promise<void> {
  const aJob = (_: unknown, job: number) => {
    const ofJob = Array.from({ length: events }, () => ({ id: createWebhookEventId(), body: JSON.stringify({ job }) }));
    const data = jobText({ webhookId, workspaceId, event: 'link.updated', events: ofJob });
    return { id: webhookJobId(webhookId, ofJob[0]?.id ?? ''), data };
  };
  await jobSender(fixture.redis).send(Array.from({ length: jobs }, aJob));
}

/** Resolves when no job waits or runs. Removes the retries, which could become due on a slow machine. */
async function untilJobsAreOver(): Promise<void> {
  await waitFor(async () => (await fixture.queue.getJobCountByTypes('wait', 'active')) === 0, { what: 'no job' });
  for (const job of await fixture.queue.getDelayed()) await job.remove();
}

/** Delivers many events in one job, and waits until they are logged. */
async function deliverEvents(hook: WebhookRecord, events: number): Promise<void> {
  const before = (await logOf(hook)).length;
  await queueJobs(hook, 1, events);
  await untilLogged(hook, before + events);
  await untilJobsAreOver();
}

/** Makes the receiver hold back its responses. @returns a function that sends those of the selected jobs, now and later */
function holdAnswers(status: number): (isSelected: (job: number) => boolean) => void {
  const held: { readonly job: number; answer(): void }[] = [];
  let isReleased = (_job: number): boolean => false;
  receiver.answer((response) => {
    const { job } = JSON.parse(receiver.received.at(-1)?.text ?? '') as { readonly job: number };
    const answer = () => void response.writeHead(status).end();
    if (isReleased(job)) answer();
    else held.push({ job, answer });
  });
  return (isSelected) => {
    isReleased = isSelected;
    for (const { job, answer } of held.splice(0)) {
      if (isSelected(job)) answer();
      else held.push({ job, answer });
    }
  };
}

const logOf = (hook: WebhookRecord) =>
  fixture.select<LogLine>(
    `SELECT attempt, status, error, url, event, event_id, request_body, response_body FROM webhook_deliveries
     WHERE webhook_id = (SELECT any(id) FROM webhooks WHERE JSONExtractString(data, 'id') = '${hook.id}') ORDER BY timestamp`,
  );

function untilLogged(hook: WebhookRecord, lines: number): Promise<LogLine[]> {
  return waitFor(
    async () => {
      const log = await logOf(hook);
      return log.length >= lines && log;
    },
    { what: `${lines} attempts in the log` },
  );
}

/** Starts the delayed retry of a delivery now. @returns its delay in seconds */
async function skipDelay(): Promise<number> {
  const [job] = await waitFor(
    async () => {
      const delayed = await fixture.queue.getDelayed();
      return delayed.length > 0 && delayed;
    },
    { what: 'a retry' },
  );
  const seconds = (job?.opts.delay ?? 0) / 1000;
  await job?.promote();
  return seconds;
}

const reload = (hook: WebhookRecord) => fixture.catalog.webhooks.require(fixture.workspaceId, hook.id);

describe('a delivery that fails', () => {
  it('is tried four times with growing delays, with the same event id and body', async () => {
    receiver.answer((response) => response.writeHead(500).end('no'));
    fixture.startWorker();
    const hook = await aLinkHook();
    await notify();
    const delays: number[] = [];
    for (let retry = 0; retry < 3; retry++) delays.push(await skipDelay());
    expect(delays).toEqual([12, 148, 1808]);
    const log = await untilLogged(hook, 4);
    expect(log.map(({ attempt, status }) => [attempt, status])).toEqual([1, 2, 3, 4].map((attempt) => [attempt, 500]));
    await waitFor(async () => (await fixture.queue.getActiveCount()) === 0, { what: 'the last attempt to end' });
    expect(await fixture.queue.getDelayedCount()).toBe(0);
    expect(new Set(receiver.received.map(({ text }) => text)).size).toBe(1);
    expect(new Set(receiver.received.map(({ headers }) => headers['dub-signature'])).size).toBe(1);
  });

  it('is counted until one succeeds', async () => {
    receiver.answer((response) => response.writeHead(404).end());
    fixture.startWorker();
    const hook = await aLinkHook();
    await deliverEvents(hook, 19);
    receiver.answer((response) => response.end());
    await deliverEvents(hook, 1);
    receiver.answer((response) => response.writeHead(404).end());
    await deliverEvents(hook, 19);
    expect((await reload(hook)).disabledAt).toBeNull();
  });

  it('warns at the fifth, tenth and fifteenth in a row, and disables the webhook at the twentieth; nothing is delivered after that', async () => {
    receiver.answer((response) => response.writeHead(503).end());
    const warned: unknown[] = [];
    const warn = (context: object) => void ('failures' in context && warned.push(context));
    fixture.startWorker({ logger: { ...SILENT, warn } });
    const hook = await aLinkHook();
    await deliverEvents(hook, 20);
    const disabled = await waitFor(
      async () => {
        const record = await reload(hook);
        return record.disabledAt !== null && record;
      },
      { what: 'the webhook to be disabled' },
    );
    expect(disabled.consecutiveFailures).toBe(20);
    await waitFor(async () => (await fixture.catalog.webhooks.active(fixture.workspaceId)).length === 0, {
      what: 'no active webhook',
    });
    expect(warned).toMatchObject([5, 10, 15].map((failures) => ({ webhookId: hook.id, failures })));
    await notify();
    await waitFor(async () => (await fixture.queue.getJobCountByTypes('wait', 'active', 'delayed')) === 0, {
      what: 'an empty queue',
    });
    expect(receiver.received).toHaveLength(20);
  });

  it('that disables the webhook also stops its other running jobs; after it is enabled the count starts at zero', async () => {
    const hook = await aLinkHook();
    const isDisabled = async () => (await reload(hook)).disabledAt !== null;
    const releaseAnswers = holdAnswers(500);
    fixture.startWorker();
    await queueJobs(hook, JOBS_AT_ONCE, 50);
    await waitFor(() => receiver.received.length === ATTEMPTS_AT_ONCE, { what: 'attempts in progress' });
    // One job alone disables the webhook; the attempts of the other jobs fail afterwards.
    releaseAnswers((job) => job === 0);
    await waitFor(isDisabled, { what: 'the webhook to be disabled' });
    releaseAnswers(() => true);
    await untilJobsAreOver();
    expect(receiver.received.length).toBeLessThan(20 + ATTEMPTS_AT_ONCE);

    receiver.answer((response) => response.writeHead(500).end());
    await fixture.catalog.webhooks.update(fixture.workspaceId, hook.id, () => ENABLED);
    await deliverEvents(hook, 19);
    expect(await isDisabled()).toBe(false);
    await deliverEvents(hook, 1);
    expect(await isDisabled()).toBe(true);
  });

  it('disables the webhook even if the writer that counted it was killed: the next writer does it, and delivers nothing', async () => {
    const hook = await aLinkHook();
    const failures = createFailureCounts(fixture.redis);
    for (let count = 0; count < 20; count++) await failures.add(hook);
    fixture.startWorker();
    await queueJobs(hook, 1, 10);
    await untilJobsAreOver();
    expect((await reload(hook)).disabledAt).not.toBeNull();
    expect(receiver.received).toEqual([]);
  });

  it('is not counted after a success, also of another job', async () => {
    const hook = await aLinkHook();
    const failures = createFailureCounts(fixture.redis);
    // Another job's attempt fails before each success of this one.
    receiver.answer((response) => void failures.add(hook).then(() => response.end()));
    fixture.startWorker();
    await deliverEvents(hook, 60);
    expect((await reload(hook)).disabledAt).toBeNull();
    expect(receiver.received).toHaveLength(60);
  });
});

describe('a running job', () => {
  it.each(['disabled', 'removed'])('stops when its webhook is %s', async (change) => {
    const hook = await aLinkHook();
    const { webhooks } = fixture.catalog;
    const changes = {
      disabled: () => webhooks.update(fixture.workspaceId, hook.id, () => ({ disabledAt: new Date().toISOString() })),
      removed: () => webhooks.remove(fixture.workspaceId, hook.id),
    };
    const releaseAnswers = holdAnswers(200);
    fixture.startWorker();
    await queueJobs(hook, 1, 50);
    await waitFor(() => receiver.received.length === 8, { what: 'attempts in progress' });
    await changes[change as keyof typeof changes]();
    releaseAnswers(() => true);
    await untilJobsAreOver();
    expect(receiver.received).toHaveLength(8);
  });

  it.each([
    ['succeed', 200, 0],
    ['fail, the twentieth too', 500, 8],
  ])(
    'sends what is left to the new address when its webhook is changed, if its attempts %s',
    async (_, status, retried) => {
      const other = await startReceiver();
      const hook = await aLinkHook();
      for (let count = 0; count < 19; count++) await createFailureCounts(fixture.redis).add(hook);
      const releaseAnswers = holdAnswers(status);
      fixture.startWorker();
      await queueJobs(hook, 1, 50);
      await waitFor(() => receiver.received.length === 8, { what: 'attempts in progress' });
      const change = await fixture.catalog.webhooks.update(fixture.workspaceId, hook.id, () => ({ url: other.url }));
      releaseAnswers(() => true);
      await waitFor(() => other.received.length === 42, { what: 'the rest' });
      await waitFor(async () => (await fixture.queue.getDelayedCount()) === retried, { what: 'the retries' });
      for (const retry of await fixture.queue.getDelayed()) await retry.promote();
      await waitFor(() => other.received.length === 42 + retried, { what: 'the retries at the new address' });
      expect(await reload(hook)).toEqual(change);
      await other.stop();
    },
  );
});

describe('a receiver', () => {
  it('that redirects counts as failed: redirects are not followed', async () => {
    const other = await startReceiver();
    receiver.answer((response) => response.writeHead(307, { location: other.url }).end());
    fixture.startWorker();
    const hook = await aLinkHook();
    await notify();
    const [line] = await untilLogged(hook, 1);
    expect(line?.status).toBe(307);
    expect(other.received).toEqual([]);
    await other.stop();
  });

  it('that does not respond in time counts as failed, and is logged as 503', async () => {
    receiver.answer(() => undefined);
    fixture.startWorker({ timeoutMs: 100 });
    const hook = await aLinkHook();
    await notify();
    const [line] = await untilLogged(hook, 1);
    expect(line).toMatchObject({ status: 503, error: 'no answer within 100 ms', response_body: '' });
  });

  it('that answers 2xx and never ends its body has the event', async () => {
    receiver.answer((response) => void response.writeHead(202).write('thanks'));
    fixture.startWorker({ timeoutMs: 1000 });
    const hook = await aLinkHook();
    await notify();
    const [line] = await untilLogged(hook, 1);
    expect(line).toMatchObject({ status: 202, error: '', response_body: 'thanks' });
    await untilJobsAreOver();
    expect(receiver.received).toHaveLength(1);
  });

  it('that sends a long response has it truncated', async () => {
    receiver.answer((response) => response.end('x'.repeat(1_000_000)));
    fixture.startWorker();
    const hook = await aLinkHook();
    await notify();
    const [line] = await untilLogged(hook, 1);
    expect([line?.status, line?.response_body.length]).toEqual([200, 8192]);
  });

  it('at a private address gets no connection unless the operator allows it', async () => {
    fixture.startWorker({ allowedRanges: [] });
    const hook = await aLinkHook();
    await notify();
    const [line] = await untilLogged(hook, 1);
    expect(line).toMatchObject({ status: 503, error: 'the host has no public address' });
    expect(receiver.received).toEqual([]);
  });

  it('gets 32 requests at once from a writer: eight of each of four jobs', async () => {
    const jobs = JOBS_AT_ONCE + 1;
    const releaseAnswers = holdAnswers(200);
    fixture.startWorker({ timeoutMs: 20_000 });
    await queueJobs(await aLinkHook(), jobs, 100);
    const isFull = async () =>
      receiver.received.length >= ATTEMPTS_AT_ONCE && (await fixture.queue.getDelayed()).length === 1;
    await waitFor(isFull, { what: 'the first requests, and a job that is postponed' });
    expect(receiver.received).toHaveLength(ATTEMPTS_AT_ONCE);
    releaseAnswers(() => true);
    await waitFor(() => receiver.received.length === jobs * 100, { what: 'all requests' });
  });

  it('that is slow does not delay other webhooks', async () => {
    const quick = await startReceiver();
    const held: ServerResponse[] = [];
    receiver.answer((response) => void held.push(response));
    fixture.startWorker({ timeoutMs: 20_000 });
    await aLinkHook();
    await notify(12);
    await waitFor(() => receiver.received.length >= 4, { what: 'the slow one to be busy' });
    await fixture.aHook(quick.url, { triggers: ['link.created'] });
    await fixture.notifier.linkChanged('link.created', await fixture.aLink());
    await waitFor(() => quick.received.length === 1, { what: 'the delivery to the quick one' });
    receiver.answer((response) => void response.end());
    for (const response of held) response.end();
    await quick.stop();
  });
});

describe('the log of deliveries', () => {
  it('delays no delivery: jobs that wait for the log do not count against the limit of their webhook', async () => {
    let endInserts = () => {};
    const held = new Promise<void>((resolve) => {
      endInserts = resolve;
    });
    const { client } = fixture.database;
    const clickhouse = new Proxy(client, {
      get(target, name) {
        if (name === 'insert')
          return (...args: Parameters<typeof client.insert>) => held.then(() => target.insert(...args));
        const value = target[name as keyof typeof target] as unknown;
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    fixture.startWorker({ clickhouse });
    await queueJobs(await aLinkHook(), 3 * JOBS_AT_ONCE, 1);
    await waitFor(() => receiver.received.length === 3 * JOBS_AT_ONCE, { what: 'all deliveries' });
    endInserts();
  });

  it('has a row for each attempt, with the request and the response', async () => {
    fixture.startWorker();
    const hook = await aLinkHook();
    await notify();
    const [line] = await untilLogged(hook, 1);
    const [{ text, event } = expect.fail()] = receiver.received;
    expect(line).toEqual({
      attempt: 1,
      status: 200,
      error: '',
      url: receiver.url,
      event: 'link.updated',
      event_id: event.id,
      request_body: text,
      response_body: 'thanks',
    });
  });

  it('expires after thirty days', async () => {
    const [table] = await fixture.select<{ sql: string }>(
      `SELECT create_table_query AS sql FROM system.tables
       WHERE database = currentDatabase() AND name = 'webhook_deliveries'`,
    );
    expect(table?.sql).toContain('TTL toDateTime(timestamp) + toIntervalDay(30)');
  });
});
