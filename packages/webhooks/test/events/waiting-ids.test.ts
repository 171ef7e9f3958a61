import { parseResourceId } from '@waymark/contract';
import { memoryOf, queueDepths } from '@waymark/event-queue';
import { waitFor } from '@waymark/test-kit';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { type Receiver, startReceiver } from '../delivery/receiver.js';
import { startWebhookFixture, type WebhookFixture } from '../webhook-fixture.js';

const CLICKS = { triggers: ['link.clicked' as const], linkScope: 'workspace' as const };

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
  await fixture.redis.del(countKey(), 'ballast');
  await receiver.stop();
});
afterAll(() => fixture.stop());

const countKey = () => `{waymark}:state:webhook-ids:${fixture.workspaceId}`;
/** The ids of the counted jobs. */
const countedJobs = async () => (await fixture.redis.hkeys(countKey())).filter((field) => !field.startsWith('sum'));

// First, because the use of memory is read at most once a second.
it('clicks of a workspace at its bound are stored and not delivered while Redis is filling; the webhook stays enabled', async () => {
  const { redis, catalog, workspaceId, queue } = fixture;
  const hook = await fixture.aHook(receiver.url, CLICKS);
  const sum = 32_000_000;
  await redis.hset(countKey(), { sum, [`sum:${parseResourceId('webhook', hook.id)}-`]: sum });
  const [, before] = (await redis.config('GET', 'maxmemory')) as string[];
  // A command with the bytes would use as much memory again for a moment.
  await redis.setrange('ballast', 24_000_000, 'x');
  const { usedBytes } = memoryOf(await redis.info('memory'));
  await redis.config('SET', 'maxmemory', Math.round(usedBytes / 0.72));
  try {
    const click = await fixture.click(await fixture.aLink());
    const isStored = async () =>
      (await fixture.select(`SELECT 1 FROM click_events WHERE click_id = '${String(click[2])}'`)).length === 1;
    await waitFor(isStored, { what: 'the click to be stored' });
    const isAcknowledged = async () => {
      const { waiting, active } = (await queueDepths(redis)).click;
      return waiting + active === 0;
    };
    await waitFor(isAcknowledged, { what: 'the click to be acknowledged' });
    expect(await queue.getJobCountByTypes('wait', 'active', 'delayed')).toBe(0);
    expect((await catalog.webhooks.get(workspaceId, hook.id))?.disabledAt).toBeNull();
  } finally {
    await redis.config('SET', 'maxmemory', before ?? '0');
  }
});

it('the job of a click counts until it is delivered, and one that fails until its last attempt', async () => {
  await fixture.aHook(receiver.url, CLICKS);
  receiver.answer((response) => response.writeHead(503).end());
  await fixture.click(await fixture.aLink());
  await waitFor(async () => (await countedJobs()).length === 1, { what: 'the job to be counted' });
  const [first] = await countedJobs();
  fixture.startWorker();
  await waitFor(async () => (await fixture.queue.getDelayedCount()) === 1, { what: 'the retry' });
  await waitFor(async () => !(await countedJobs()).includes(first ?? ''), { what: 'the end of the first attempt' });
  const [retry] = await fixture.queue.getDelayed();
  expect(await countedJobs()).toEqual([retry?.id]);
  receiver.answer((response) => response.end());
  await retry?.promote();
  await waitFor(async () => (await fixture.redis.exists(countKey())) === 0, { what: 'nothing to count' });
  expect(receiver.received).toHaveLength(2);
});
