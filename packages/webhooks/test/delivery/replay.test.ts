import type { ErasedPeople } from '@waymark/catalog';
import { insertRows } from '@waymark/clickhouse';
import { parseResourceId } from '@waymark/contract';
import { waitFor } from '@waymark/test-kit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { isOverQuota } from '../../src/delivery/plan-check.js';
import { eraseWaitingBodies, listDeliveryAttempts, replayDeliveries } from '../../src/index.js';
import { startWebhookFixture, type WebhookFixture } from '../webhook-fixture.js';
import { type Receiver, startReceiver } from './receiver.js';

let fixture: WebhookFixture;
let receiver: Receiver;

beforeAll(async () => {
  fixture = await startWebhookFixture();
});
beforeEach(async () => {
  receiver = await startReceiver();
  fixture.startWorker();
});
afterEach(async () => {
  await fixture.reset();
  await receiver.stop();
});
afterAll(() => fixture.stop());

const selection = (fields: object = {}) => ({ workspaceId: fixture.workspaceId, limit: 100, ...fields });
const attempts = (fields: object = {}) => listDeliveryAttempts(fixture.database.client, selection(fields));
const replay = (fields: object) => replayDeliveries(fixture.database.client, fixture.redis, selection(fields));

/** Delivers a link's update. @returns the event's id, once the attempt is in the log */
async function deliver(hookId: string, status: number): Promise<string> {
  const before = (await attempts({ webhookId: hookId })).length;
  receiver.answer((response) => response.writeHead(status).end());
  await fixture.notifier.linkChanged('link.updated', await fixture.aLink({ password: 'open sesame' }));
  const line = await waitFor(
    async () => {
      const lines = await attempts({ webhookId: hookId });
      return lines.length > before && lines[0];
    },
    { what: 'the attempt in the log' },
  );
  return line.eventId;
}

describe('deliveries that are replayed', () => {
  it('have the same event id and body, and count as delivered afterwards', async () => {
    const { id: webhookId } = await fixture.aHook(receiver.url, { triggers: ['link.updated'] });
    const delivered = await deliver(webhookId, 200);
    const failed = await deliver(webhookId, 500);
    expect((await attempts({ webhookId, isFailed: true })).map(({ eventId }) => eventId)).toEqual([failed]);

    receiver.answer((response) => response.end());
    expect(await replay({ webhookId, isFailed: true })).toBe(1);
    await waitFor(() => receiver.received.length === 3, { what: 'the replay' });
    const [, first, again] = receiver.received;
    expect(again?.text).toBe(first?.text);
    expect(again?.text).not.toContain('open sesame');
    expect(again?.headers['dub-signature']).toBe(first?.headers['dub-signature']);
    await waitFor(async () => (await attempts({ webhookId, isFailed: true })).length === 0, { what: 'the log' });
    expect((await attempts({ webhookId })).map(({ eventId, attempt, status }) => [eventId, attempt, status])).toEqual([
      [failed, 1, 200],
      [failed, 1, 500],
      [delivered, 1, 200],
    ]);
  });

  it('are sent whatever the triggers of the webhook are by then', async () => {
    const { id: webhookId } = await fixture.aHook(receiver.url, { triggers: ['link.updated'] });
    const delivered = await deliver(webhookId, 200);
    await fixture.catalog.webhooks.update(fixture.workspaceId, webhookId, () => ({ triggers: ['sale.created'] }));
    expect(await replay({ webhookId, eventIds: [delivered] })).toBe(1);
    await waitFor(() => receiver.received.length === 2, { what: 'the replay' });
    expect(receiver.received.map(({ event }) => event.id)).toEqual([delivered, delivered]);
  });

  it('of clicks are sent, although the workspace has used up its events of the month since', async () => {
    const fields = { triggers: ['link.clicked' as const], linkScope: 'workspace' as const };
    const { id: webhookId } = await fixture.aHook(receiver.url, fields);
    receiver.answer((response) => response.end());
    await fixture.click(await fixture.aLink());
    const [{ eventId } = { eventId: '' }] = await waitFor(
      async () => {
        const lines = await attempts({ webhookId });
        return lines.length === 1 && lines;
      },
      { what: 'the attempt in the log' },
    );
    await fixture.catalog.workspaces.update(fixture.workspaceId, { quotas: { eventsPerMonth: 1 } });
    await waitFor(() => isOverQuota(fixture.catalog, fixture.workspaceId), { what: 'the quota to be used up' });
    expect(await replay({ webhookId, eventIds: [eventId] })).toBe(1);
    await waitFor(() => receiver.received.length === 2, { what: 'the replay' });
    await fixture.catalog.workspaces.update(fixture.workspaceId, { quotas: {} });
  });

  it('do not count as waiting any more when they have ended, although the person of their body was erased before', async () => {
    const countKey = `{waymark}:state:webhook-bodies:${fixture.workspaceId}`;
    await fixture.redis.del(countKey);
    const { id: webhookId } = await fixture.aHook(receiver.url);
    receiver.answer((response) => response.writeHead(500).end());
    const click = await fixture.click(await fixture.aLink());
    await fixture.lead(click, await fixture.aCustomer());
    await waitFor(async () => (await attempts({ webhookId })).length === 1, { what: 'the attempt in the log' });
    expect(await replay({ webhookId, isFailed: true })).toBe(1);
    const counted = () => fixture.redis.exists(countKey);
    await waitFor(async () => (await fixture.queue.getDelayedCount()) === 2, { what: 'the second attempts' });
    await waitFor(async () => (await fixture.queue.getActiveCount()) === 0, { what: 'the first attempts to end' });
    expect(await counted()).toBe(1);
    const everybody = { modeOfId: () => 'anonymise', modeOfClickId: () => undefined };
    await eraseWaitingBodies(fixture.redis, everybody as unknown as ErasedPeople, fixture.workspaceId);
    for (const retry of await fixture.queue.getDelayed()) await retry.promote();
    await waitFor(async () => (await counted()) === 0, { what: 'the end of the erased replay' });
  });

  it('get the full number of attempts, even while retries of the first delivery are pending', async () => {
    const { id: webhookId } = await fixture.aHook(receiver.url, { triggers: ['link.updated'] });
    const failed = await deliver(webhookId, 500);
    const delayed = async () => (await fixture.queue.getDelayed()).map(({ id }) => id);
    await waitFor(async () => (await delayed()).length === 1, { what: 'the second attempt to wait' });
    expect(await replay({ webhookId, eventIds: [failed] })).toBe(1);
    await waitFor(async () => new Set(await delayed()).size === 2, { what: 'the second attempt of the replay' });
  });

  it('are all that are selected, also if they are more than are read at a time, or were first sent at the same time', async () => {
    const { id: webhookId } = await fixture.aHook(receiver.url, { triggers: ['link.updated'] });
    const webhook = parseResourceId('webhook', webhookId) ?? '';
    const workspace = parseResourceId('workspace', fixture.workspaceId) ?? '';
    const now = Date.now();
    const rows: readonly (readonly [string, number, number, number])[] = [
      ...['a', 'b', 'c', 'd', 'e'].map((id) => [id, now, 1, 500] as const),
      ['a', now + 5, 2, 500],
      ['f', now + 1, 1, 500],
      ['delivered', now, 1, 500],
      ['delivered', now + 5, 2, 200],
    ];
    await insertRows(fixture.database.client, {
      table: 'webhook_deliveries',
      columns: ['workspace_id', 'webhook_id', 'event_id', 'timestamp', 'attempt', 'status', 'event', 'request_body'],
      rows: rows.map(([id, ...row]) => [workspace, webhook, id, ...row, 'link.updated', JSON.stringify({ id })]),
    });
    receiver.answer((response) => response.end());
    expect(await replay({ webhookId, isFailed: true, limit: 2 })).toBe(6);
    await waitFor(() => receiver.received.length === 6, { what: 'the replay' });
    expect(receiver.received.map(({ event }) => event.id).sort()).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
  });

  it('are those of one workspace only, and none if the list of ids is empty', async () => {
    const { id: webhookId } = await fixture.aHook(receiver.url, { triggers: ['link.updated'] });
    const failed = await deliver(webhookId, 500);
    expect(await replay({ eventIds: [failed], workspaceId: 'ws_00000000001' })).toBe(0);
    expect(await replay({ eventIds: [] })).toBe(0);
  });

  it('wait while 16 MB of deliveries of the workspace wait, so that its changes are not refused', async () => {
    const { id: webhookId } = await fixture.aHook(receiver.url, { triggers: ['link.updated'] });
    const failed = await deliver(webhookId, 500);
    const waitingKey = `{waymark}:state:webhook-bodies:${fixture.workspaceId}`;
    await waitFor(async () => (await fixture.queue.getActiveCount()) === 0, { what: 'the end of the attempt' });
    await fixture.redis.hset(waitingKey, 'sum', 16_000_000);
    const replayed = replay({ webhookId, eventIds: [failed] });
    const searches = () => fixture.redis.keys('*webhook-bodies-searched*');
    await waitFor(async () => (await searches()).length === 1, { what: 'the replay to look for room' });
    expect((await fixture.queue.getDelayed()).map(({ id }) => id)).toHaveLength(1);
    await fixture.redis.del(waitingKey);
    expect(await replayed).toBe(1);
  });
});
