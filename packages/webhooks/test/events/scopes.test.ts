import type { LinkRecord, WebhookRecord } from '@waymark/catalog';
import { queueDepths } from '@waymark/event-queue';
import { waitFor } from '@waymark/test-kit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Receiver, startReceiver } from '../delivery/receiver.js';
import { startWebhookFixture, type WebhookFixture } from '../webhook-fixture.js';

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

interface SentClick {
  readonly click: { readonly id: string };
  readonly link: { readonly id: string };
}

/** Records a click of each of `links`, then one of `last`. @returns the ids of the links whose clicks were sent */
async function linksSent(links: readonly LinkRecord[], last: LinkRecord): Promise<string[]> {
  for (const link of links) await fixture.click(link);
  const { 2: lastClick } = await fixture.click(last);
  const sent = () => receiver.received.map(({ event }) => event.data as SentClick);
  await waitFor(() => sent().some(({ click }) => click.id === lastClick), { what: 'the last click' });
  await waitFor(async () => (await fixture.queue.getJobCountByTypes('wait', 'active', 'delayed')) === 0, {
    what: 'all deliveries',
  });
  return sent()
    .map(({ link }) => link.id)
    .sort();
}

const isWriterIdle = ({ click, lead }: Awaited<ReturnType<typeof queueDepths>>) =>
  [click, lead].every(({ waiting, active }) => waiting + active === 0);
const ids = (...links: readonly LinkRecord[]) => links.map(({ id }) => id).sort();
const clicks = { triggers: ['link.clicked' as const] };

describe('an event that waits when its webhook is changed is sent if', () => {
  /** Queues events while no worker runs, changes the webhook, and delivers. @returns the kinds of the events and the links they were of */
  async function sentAfter(
    hook: WebhookRecord,
    act: () => Promise<unknown>,
    change: Partial<WebhookRecord>,
  ): Promise<string[]> {
    await act();
    const jobs = () => fixture.queue.getJobCountByTypes('wait', 'delayed');
    await waitFor(async () => (await jobs()) > 0, { what: 'the events to wait' });
    await waitFor(async () => isWriterIdle(await queueDepths(fixture.redis)), { what: 'the writer' });
    await fixture.catalog.webhooks.update(fixture.workspaceId, hook.id, () => change);
    fixture.startWorker();
    await waitFor(async () => (await fixture.queue.getJobCountByTypes('wait', 'active', 'delayed')) === 0, {
      what: 'all deliveries',
    });
    return receiver.received.map(({ event }) => `${event.event} ${(event.data as SentClick).link.id}`).sort();
  }

  beforeEach(() => fixture.reset());

  it('the webhook still has the trigger', async () => {
    const link = await fixture.aLink();
    const hook = await fixture.aHook(receiver.url, { triggers: ['lead.created', 'sale.created'] });
    const act = async () => fixture.lead(await fixture.click(link), await fixture.aCustomer());
    expect(await sentAfter(hook, act, { triggers: ['sale.created'] })).toEqual([]);
  });

  it('the webhook still gets clicks: without the trigger it has no scope', async () => {
    const folder = await fixture.catalog.folders.create(fixture.workspaceId, { name: `folder ${Date.now()}` });
    const [inside, outside] = [await fixture.aLink({ folderId: folder.id }), await fixture.aLink()];
    const hook = await fixture.aHook(receiver.url, { ...clicks, linkScope: 'folders', folderIds: [folder.id] });
    const act = () => Promise.all([fixture.click(outside), fixture.click(inside)]);
    const change = { triggers: ['lead.created' as const], linkScope: null, folderIds: [] };
    expect(await sentAfter(hook, act, change)).toEqual([]);
  });

  it.each(['workspace', 'folders'] as const)(
    'the link is listed: the scope was %s, and is links',
    async (linkScope) => {
      const hook = await fixture.aHook(receiver.url, { ...clicks, linkScope });
      const [listed, other] = [await fixture.aLink({ webhookIds: [hook.id] }), await fixture.aLink()];
      const act = () => Promise.all([fixture.click(other), fixture.click(listed)]);
      expect(await sentAfter(hook, act, { linkScope: 'links' })).toEqual([`link.clicked ${listed.id}`]);
    },
  );

  it('its link is in one of the folders: the scope was the workspace', async () => {
    const folder = await fixture.catalog.folders.create(fixture.workspaceId, { name: `folder ${Date.now()}` });
    const [inside, outside] = [await fixture.aLink({ folderId: folder.id }), await fixture.aLink()];
    const hook = await fixture.aHook(receiver.url, { ...clicks, linkScope: 'workspace' });
    const act = () => Promise.all([fixture.click(outside), fixture.click(inside)]);
    const change = { linkScope: 'folders' as const, folderIds: [folder.id] };
    expect(await sentAfter(hook, act, change)).toEqual([`link.clicked ${inside.id}`]);
  });
});

describe('clicks are sent for', () => {
  it('every link of the workspace', async () => {
    const [one, two] = [await fixture.aLink(), await fixture.aLink()];
    await fixture.aHook(receiver.url, { ...clicks, linkScope: 'workspace' });
    expect(await linksSent([one, one], two)).toEqual(ids(one, one, two));
  });

  it('the links that a webhook lists', async () => {
    const hook = await fixture.aHook(receiver.url, { ...clicks, linkScope: 'links' });
    const [listed, other] = [await fixture.aLink({ webhookIds: [hook.id] }), await fixture.aLink()];
    expect(await linksSent([other], listed)).toEqual(ids(listed));
  });

  it('the links that are in a webhook’s folders at the time of delivery', async () => {
    const folder = await fixture.catalog.folders.create(fixture.workspaceId, { name: `folder ${Date.now()}` });
    const [inside, outside] = [await fixture.aLink({ folderId: folder.id }), await fixture.aLink()];
    await fixture.aHook(receiver.url, { ...clicks, linkScope: 'folders', folderIds: [folder.id] });
    expect(await linksSent([outside], inside)).toEqual(ids(inside));
  });

  it('no link of another workspace', async () => {
    const other = await startWebhookFixture();
    const link = await fixture.aLink();
    await fixture.aHook(receiver.url, { ...clicks, linkScope: 'workspace' });
    await other.click(await other.aLink());
    expect(await linksSent([], link)).toEqual(ids(link));
    await other.stop();
  });

  it('nothing when the workspace has used up its events of the month', async () => {
    const link = await fixture.aLink();
    await fixture.aHook(receiver.url, { triggers: ['link.clicked', 'lead.created'], linkScope: 'workspace' });
    await fixture.catalog.workspaces.update(fixture.workspaceId, { quotas: { eventsPerMonth: 1 } });
    await fixture.reset();
    await fixture.aHook(receiver.url, { triggers: ['link.clicked', 'lead.created'], linkScope: 'workspace' });
    fixture.startWorker();
    await fixture.lead(await fixture.click(link), await fixture.aCustomer());
    await waitFor(() => receiver.received.some(({ event }) => event.event === 'lead.created'), { what: 'the lead' });
    await waitFor(async () => (await fixture.queue.getJobCountByTypes('wait', 'active', 'delayed')) === 0, {
      what: 'all deliveries',
    });
    expect(receiver.received.map(({ event }) => event.event)).toEqual(['lead.created']);
  });
});
