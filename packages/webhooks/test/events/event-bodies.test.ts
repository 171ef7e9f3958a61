import { createHmac } from 'node:crypto';
import { draftCustomer } from '@waymark/catalog';
import { type Partner, webhookEventSchema } from '@waymark/contract';
import { addPendingCustomer, waitFor } from '@waymark/test-kit';
import {
  leadCreatedEventFromJSON,
  linkClickedEventFromJSON,
  linkWebhookEventFromJSON,
  partnerEnrolledEventFromJSON,
  saleCreatedEventFromJSON,
} from 'dub/models/components';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { webhookEventIdOf } from '../../src/events/webhook-event-id.js';
import { type Received, type Receiver, startReceiver } from '../delivery/receiver.js';
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

const untilReceived = (count: number) =>
  waitFor(() => receiver.received.length >= count && receiver.received, { what: `${count} deliveries` });

const CLIENT_PARSERS: Readonly<Record<string, (text: string) => { readonly ok: boolean; readonly error?: unknown }>> = {
  'link.created': linkWebhookEventFromJSON,
  'link.updated': linkWebhookEventFromJSON,
  'link.deleted': linkWebhookEventFromJSON,
  'link.clicked': linkClickedEventFromJSON,
  'lead.created': leadCreatedEventFromJSON,
  'sale.created': saleCreatedEventFromJSON,
  'partner.enrolled': partnerEnrolledEventFromJSON,
};

/** Parses a received event with the client library, unchanged, and with our own schema. */
function parsed({ text, event }: Received) {
  const parse = CLIENT_PARSERS[event.event];
  expect(parse?.(text)).toMatchObject({ ok: true });
  return webhookEventSchema.parse(event);
}

const NOTHING = {
  ...{ username: null, email: null, image: null, description: null, country: null, companyName: null },
  ...{ defaultPayoutMethod: null, paypalEmail: null, stripeConnectId: null, payoutsEnabledAt: null },
  ...{ trustedAt: null, website: null, youtube: null, twitter: null, linkedin: null, instagram: null, tiktok: null },
  ...{ identityVerifiedAt: null, groupId: null, tenantId: null, links: null, bannedAt: null, bannedReason: null },
  ...{ totalClicks: 0, totalLeads: 0, totalConversions: 0, totalSales: 0, totalSaleAmount: 0, totalCommissions: 0 },
  ...{ netRevenue: 0, earningsPerClick: null, averageLifetimeValue: null, clickToLeadRate: null },
  ...{ clickToConversionRate: null, leadToConversionRate: null, returnOnAdSpend: null },
};
const aPartner: Partner = {
  ...NOTHING,
  id: 'pn_1',
  partnerId: 'pn_1',
  programId: 'prog_1',
  name: 'Pat',
  networkStatus: 'draft',
  status: 'approved',
  createdAt: '2026-11-21T00:00:00.000Z',
  tags: [],
};

describe('the body of a webhook event', () => {
  it('is signed over the exact body with the secret of the webhook', async () => {
    const link = await fixture.aLink({ comments: 'é, 漢字, "quotes" and \u2028' });
    const hook = await fixture.aHook(receiver.url, { triggers: ['link.clicked'], linkScope: 'workspace' });
    await fixture.click(link);
    const [{ headers, text } = expect.fail()] = await untilReceived(1);
    const secret = fixture.catalog.webhooks.secretOf(hook);
    expect(secret).toMatch(/^whsec_[0-9a-f]{32}$/);
    expect(headers['dub-signature']).toBe(createHmac('sha256', secret).update(text).digest('hex'));
    expect(headers['content-type']).toBe('application/json');
    expect(text).toContain('漢字');
  });

  it('of a click has the click, and the link with counters that include this click', async () => {
    const link = await fixture.aLink();
    await fixture.aHook(receiver.url, { triggers: ['link.clicked'], linkScope: 'workspace' });
    const click = await fixture.click(link, { country: 'US', region: 'CA', ip: '203.0.113.7' });
    const [sent = expect.fail()] = (await untilReceived(1)).map(parsed);
    expect(sent).toMatchObject({
      event: 'link.clicked',
      createdAt: new Date(Number(click[1])).toISOString(),
      data: {
        click: { id: click[2], region: 'US-CA', ip: '203.0.113.7' },
        link: { id: link.id, clicks: 1, lastClicked: new Date(Number(click[1])).toISOString() },
      },
    });
  });

  it('of a lead and a sale has customer, click, link, sale, and metadata or null', async () => {
    const link = await fixture.aLink({ trackConversion: true });
    const customer = await fixture.aCustomer();
    await fixture.aHook(receiver.url, { triggers: ['lead.created', 'sale.created'] });
    const click = await fixture.click(link);
    await fixture.lead(click, customer, {
      eventName: 'Sign up',
      metadata: { plan: 'pro', password: '"password":"v1.' },
    });
    const [lead = expect.fail()] = (await untilReceived(1)).map(parsed);
    expect(lead).toMatchObject({
      event: 'lead.created',
      data: {
        eventName: 'Sign up',
        customer: { id: customer.id, name: 'Ada', sales: 0 },
        click: { id: click[2], timestamp: new Date(Number(click[1])).toISOString() },
        link: { id: link.id, leads: 1 },
        metadata: { plan: 'pro', password: '"password":"v1.' },
      },
    });
    expect(lead.data).not.toHaveProperty('partner');

    await fixture.sale(click, customer, { amount: 4900, invoiceId: 'INV_1', paymentProcessor: 'stripe' });
    const sale = (await untilReceived(2)).map(parsed)[1];
    expect(sale).toMatchObject({
      event: 'sale.created',
      data: {
        sale: { amount: 4900, currency: 'usd', paymentProcessor: 'stripe', invoiceId: 'INV_1' },
        customer: { id: customer.id, sales: 1, saleAmount: 4900 },
        click: { timestamp: new Date(Number(click[1])).toISOString() },
        link: { sales: 1, saleAmount: 4900 },
        metadata: null,
      },
    });
  });

  it('of a lead has the customer, even if its row has been in the queue for an hour', async () => {
    const link = await fixture.aLink({ trackConversion: true });
    const customer = draftCustomer(fixture.workspaceId, { externalId: 'queued', name: 'Ada' }, Date.now() - 3_600_000);
    await addPendingCustomer(fixture.redis, customer);
    await fixture.aHook(receiver.url, { triggers: ['lead.created'] });
    await fixture.lead(await fixture.click(link), customer);
    const [lead = expect.fail()] = (await untilReceived(1)).map(parsed);
    expect(lead.data).toMatchObject({ customer: { id: customer.id, name: 'Ada' } });
  });

  it('of a lead has a placeholder if the customer was deleted', async () => {
    const link = await fixture.aLink({ trackConversion: true });
    const customer = await fixture.aCustomer();
    await fixture.catalog.customers.remove(fixture.workspaceId, customer.id);
    await fixture.aHook(receiver.url, { triggers: ['lead.created'] });
    await fixture.lead(await fixture.click(link), customer);
    const [lead = expect.fail()] = (await untilReceived(1)).map(parsed);
    expect(lead.data).toMatchObject({ customer: { id: customer.id, name: 'Deleted Customer' } });
  });

  it('of a call that counts five leads is sent once; another call with the same content is sent too', async () => {
    const link = await fixture.aLink({ trackConversion: true });
    const customer = await fixture.aCustomer();
    await fixture.aHook(receiver.url, { triggers: ['lead.created'] });
    const click = await fixture.click(link);
    const facts = { eventName: 'Seats', timestampMs: Date.now() };
    const calls = await Promise.all([5, 5].map((quantity) => fixture.leads(quantity, click, customer, facts)));
    const ids = calls.map(([row]) => webhookEventIdOf('lead.created', String(row?.[2])));
    const events = (await untilReceived(2)).map(parsed);
    expect(events.map(({ id }) => id).sort()).toEqual(ids.sort());
    expect(events.map(({ data }) => data)).toEqual(
      Array(2).fill(expect.objectContaining({ eventName: 'Seats', link: expect.objectContaining({ id: link.id }) })),
    );
    // No job is left, so no other event can be sent later.
    await waitFor(async () => (await fixture.queue.getJobCountByTypes('wait', 'active', 'delayed')) === 0, {
      what: 'an empty queue',
    });
    expect(receiver.received).toHaveLength(2);
    const counters = await fixture.catalog.links.counters(fixture.workspaceId, [link.id]);
    expect(counters.get(link.id)?.leads).toBe(10);
  });

  it('of a partner’s link has the partner, with the totals of all its links', async () => {
    const partner = await fixture.catalog.partners.create(fixture.workspaceId, {
      name: 'Pat',
      email: 'pat@example.com',
    });
    const [link, other] = await Promise.all([1, 2].map(() => fixture.aLink({ partnerId: partner.id })));
    if (link === undefined || other === undefined) expect.fail();
    await fixture.aHook(receiver.url, { triggers: ['lead.created'] });
    const [click] = [await fixture.click(link), await fixture.click(other)];
    await fixture.lead(click, await fixture.aCustomer());
    const [sent = expect.fail()] = (await untilReceived(1)).map(parsed);
    expect(sent.data).toMatchObject({
      partner: { id: partner.id, name: 'Pat', email: 'pat@example.com', totalLeads: 1, totalCommissions: 0 },
    });
  });

  it.each(['link.created', 'link.updated', 'link.deleted'] as const)('of %s is the link', async (event) => {
    const tag = await fixture.catalog.tags.create(fixture.workspaceId, { name: `tag of ${event}` });
    const link = await fixture.aLink({ tagIds: [tag.id] });
    await fixture.aHook(receiver.url, { triggers: [event] });
    await fixture.aHook(`${receiver.url}/other`, { triggers: ['link.clicked'], linkScope: 'workspace' });
    await fixture.notifier.linkChanged(event, link);
    const [sent = expect.fail()] = (await untilReceived(1)).map(parsed);
    expect(sent).toMatchObject({
      event,
      data: { id: link.id, tags: [{ id: tag.id }], workspaceId: fixture.workspaceId },
    });
    expect(receiver.received).toHaveLength(1);
  });

  it('of an enrolled partner is the partner', async () => {
    await fixture.aHook(receiver.url, { triggers: ['partner.enrolled'] });
    await fixture.notifier.partnerEnrolled(fixture.workspaceId, aPartner.id, async () => aPartner);
    const [sent = expect.fail()] = (await untilReceived(1)).map(parsed);
    expect(sent).toMatchObject({ event: 'partner.enrolled', data: { id: 'pn_1', name: 'Pat' } });
  });

  it('never contains the password of a link, and neither does a job or the log', async () => {
    const link = await fixture.aLink({ password: 'open sesame' });
    await fixture.reset();
    await fixture.aHook(receiver.url, { triggers: ['link.updated', 'lead.created'] });
    await fixture.notifier.linkChanged('link.updated', link);
    await fixture.lead(await fixture.click(link), await fixture.aCustomer(), { metadata: { password: 'v1.none' } });
    await waitFor(async () => (await fixture.queue.getWaitingCount()) === 2, { what: 'the jobs' });
    const jobs = JSON.stringify(await fixture.queue.getWaiting());
    expect(jobs).toContain('link.updated');
    expect(jobs).not.toContain('open sesame');

    fixture.startWorker();
    const events = (await untilReceived(2)).map(parsed);
    expect(events.find(({ event }) => event === 'link.updated')?.data).toMatchObject({ password: '********' });
    expect(events.find(({ event }) => event === 'lead.created')?.data).toMatchObject({
      link: { password: '********' },
      metadata: { password: 'v1.none' },
    });
    const logged = await waitFor(
      async () => {
        const rows = await fixture.select<{ text: string }>(
          `SELECT concat(request_body, response_body) AS text FROM webhook_deliveries WHERE position(request_body, '${link.id}') > 0`,
        );
        return rows.length === 2 && rows;
      },
      { what: 'the log' },
    );
    expect(JSON.stringify(logged)).not.toContain('open sesame');
  });
});
