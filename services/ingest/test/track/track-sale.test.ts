import type { LinkRecord } from '@waymark/catalog';
import { createEventId, parseResourceId } from '@waymark/contract';
import { customerClaim, firstSaleClaim, invoiceClaim } from '@waymark/event-queue';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { convertToUsd } from '../../src/track/conversions/currencies.js';
import { startIngest, type TestIngest } from '../test-ingest.js';

const RATES = new Map([
  ['eur', 0.8],
  ['jpy', 150],
]);

let ingest: TestIngest;
beforeAll(async () => {
  ingest = await startIngest({
    currencies: { toUsd: (money) => convertToUsd(money, RATES), close: () => undefined },
  });
  ingest.startWriter();
});
afterAll(() => ingest.stop());

let customers = 0;
let invoices = 0;
const someone = () => {
  customers += 1;
  return `buyer-${customers}`;
};
const anInvoice = () => {
  invoices += 1;
  return `INV-${invoices}`;
};
const sale = (body: unknown) => ingest.post('/track/sale', body);
const lead = (body: unknown) => ingest.post('/track/lead', body);
const number = (kind: 'link' | 'customer', id: string) => parseResourceId(kind, id);
const salesOf = (link: LinkRecord, count: number) =>
  ingest.rowsWhen(count, 'sale_events', 'link_id = {link:UInt64}', { link: number('link', link.id) });
const leadsOf = (link: LinkRecord, count: number) =>
  ingest.rowsWhen(count, 'lead_events', 'link_id = {link:UInt64}', { link: number('link', link.id) });
const NOTHING = { customer: null, sale: null };

/** Creates a link, and a customer with a lead on it. */
async function aCustomer(eventName = 'Sign up') {
  const link = await ingest.link({ trackConversion: true });
  const clickId = await ingest.click(link);
  const customerExternalId = someone();
  await lead({ clickId, eventName, customerExternalId, customerName: 'Ada', customerEmail: 'ada@example.com' });
  return { link, clickId, customerExternalId };
}

/** Deletes claims and lead entries, as if they had expired; filters that rely on claims end before these do. */
async function deleteClaims(...names: string[]): Promise<void> {
  const mark = `filters:${ingest.workspaceId}`;
  await ingest.redisClient.del(...[...names, mark].map((name) => `{waymark}:claim:${name}`));
  const leads = await ingest.redisClient.keys('{waymark}:state:lead-of:*');
  if (leads.length > 0) await ingest.redisClient.del(...leads);
}

describe('POST /track/sale', () => {
  it('records a sale under the customer’s lead', async () => {
    const { link, clickId, customerExternalId } = await aCustomer();
    const invoiceId = anInvoice();
    const answer = await sale({
      customerExternalId,
      amount: 2900,
      eventName: 'Invoice paid',
      paymentProcessor: 'stripe',
      invoiceId,
      metadata: { plan: 'pro' },
      clickId: 'ignored',
    });
    expect(answer.statusCode).toBe(200);
    const customer = await ingest.customer(customerExternalId);
    expect(answer.json()).toEqual({
      eventName: 'Invoice paid',
      customer: {
        id: customer.id,
        name: 'Ada',
        email: 'ada@example.com',
        avatar: null,
        externalId: customerExternalId,
      },
      sale: { amount: 2900, currency: 'usd', paymentProcessor: 'stripe', invoiceId, metadata: { plan: 'pro' } },
    });
    const [row] = await salesOf(link, 1);
    expect(row).toMatchObject({
      event_name: 'Invoice paid',
      click_id: clickId,
      customer_id: number('customer', customer.id),
      invoice_id: invoiceId,
      amount: '2900',
      sale_type: 'new',
      metadata_kv: ['plan=pro'],
      browser: 'Chrome',
    });
  });

  it('counts an invoice once, and answers a repeat like the first request', async () => {
    const { link, customerExternalId } = await aCustomer();
    const other = await aCustomer();
    const invoiceId = anInvoice();
    const first = await sale({ customerExternalId, amount: 100, invoiceId, metadata: { first: true } });
    for (const repeat of [
      { customerExternalId, amount: 100, invoiceId },
      { customerExternalId, amount: 999, invoiceId, eventName: 'Other', currency: 'eur' },
      { customerExternalId: other.customerExternalId, amount: 100, invoiceId },
      { customerExternalId: 'nobody', amount: 0, invoiceId },
    ]) {
      expect((await sale(repeat)).json()).toEqual(first.json());
    }
    await salesOf(link, 1);
    await salesOf(other.link, 0);
  });

  it('takes invoices for the same with blanks around them, but not in another case', async () => {
    const { link, customerExternalId } = await aCustomer();
    const invoiceId = anInvoice();
    const first = await sale({ customerExternalId, amount: 100, invoiceId });
    expect((await sale({ customerExternalId, amount: 900, invoiceId: ` ${invoiceId}\t` })).json()).toEqual(
      first.json(),
    );
    const other = { amount: 900, invoiceId: invoiceId.toLowerCase() };
    expect((await sale({ customerExternalId, ...other })).json()).toMatchObject({ sale: other });
    await salesOf(link, 2);
  });

  it('counts an invoice once for concurrent requests', async () => {
    const { link, customerExternalId } = await aCustomer();
    const invoiceId = anInvoice();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => sale({ customerExternalId, amount: 100, invoiceId })),
    );
    for (const answer of answers) expect(answer.json()).toEqual(answers[0]!.json());
    expect(answers[0]!.json()).toMatchObject({ sale: { invoiceId } });
    const after = await sale({ customerExternalId, amount: 5 });
    expect(after.statusCode).toBe(200);
    await salesOf(link, 2);
  });

  it('answers a repeat from ClickHouse when the claim in Redis has expired', async () => {
    const { link, customerExternalId } = await aCustomer();
    const invoiceId = anInvoice();
    const body = {
      customerExternalId,
      amount: 100,
      currency: 'eur',
      invoiceId,
      metadata: { nested: { a: [1] } },
      eventName: 'Renewal',
    };
    const first = await sale(body);
    await salesOf(link, 1);
    await ingest.customer(customerExternalId);
    await deleteClaims(invoiceClaim(ingest.workspaceId, invoiceId));
    const repeat = await sale({ ...body, amount: 7, metadata: null });
    expect(repeat.json()).toEqual(first.json());
    await salesOf(link, 1);
  });

  it('marks only the first sale of a customer on a link as new, also for concurrent sales', async () => {
    const { link, customerExternalId } = await aCustomer();
    await Promise.all(Array.from({ length: 10 }, (_, index) => sale({ customerExternalId, amount: 100 + index })));
    const rows = await salesOf(link, 10);
    expect(rows.filter((row) => row.sale_type === 'new')).toHaveLength(1);

    const customer = await ingest.customer(customerExternalId);
    await deleteClaims(firstSaleClaim(ingest.workspaceId, customer.id, link.id));
    await sale({ customerExternalId, amount: 1 });
    const later = await salesOf(link, 11);
    expect(later.filter((row) => row.sale_type === 'new')).toHaveLength(1);
  });

  it('is attributed to the customer’s latest lead, or to the latest with leadEventName', async () => {
    const { link, clickId, customerExternalId } = await aCustomer('First');
    const second = await ingest.link({ trackConversion: true });
    const secondClick = await ingest.click(second);
    await lead({ clickId: secondClick, eventName: 'Second', customerExternalId });

    await sale({ customerExternalId, amount: 1 });
    await sale({ customerExternalId, amount: 2, leadEventName: 'First' });
    expect((await salesOf(second, 1))[0]).toMatchObject({ amount: '1', click_id: secondClick, sale_type: 'new' });
    expect((await salesOf(link, 1))[0]).toMatchObject({ amount: '2', click_id: clickId, sale_type: 'new' });
    expect((await sale({ customerExternalId, amount: 3, leadEventName: 'first' })).statusCode).toBe(404);

    await leadsOf(second, 1);
    await leadsOf(link, 1);
    await deleteClaims(customerClaim(ingest.workspaceId, customerExternalId));
    await sale({ customerExternalId, amount: 4 });
    await sale({ customerExternalId, amount: 5, leadEventName: 'First' });
    const [onSecond, onFirst] = [await salesOf(second, 2), await salesOf(link, 2)];
    const written = onSecond.find((row) => row.amount === '4');
    const direct = onSecond.find((row) => row.amount === '1');
    expect(written).toMatchObject({ click_id: secondClick, sale_type: 'recurring' });
    // The click found through the lead's row is the click itself, to the letter.
    const clickOf = (row?: Record<string, unknown>) => (JSON.parse(String(row?.payload)) as { click: object }).click;
    expect(clickOf(written)).toEqual(clickOf(direct));
    expect(written?.click_timestamp).toBe(direct?.click_timestamp);
    expect(onFirst.map((row) => row.amount).sort()).toEqual(['2', '5']);
  });

  it('creates a customer and a lead for a direct sale', async () => {
    const link = await ingest.link({ trackConversion: true });
    const clickId = await ingest.click(link);
    const customerExternalId = someone();
    const answer = await sale({
      customerExternalId,
      clickId,
      amount: 5000,
      customerName: 'Grace',
      metadata: { direct: true },
      leadEventName: 'Bought at once',
    });
    expect(answer.json()).toMatchObject({ customer: { name: 'Grace' }, sale: { amount: 5000 } });
    expect((await leadsOf(link, 1))[0]).toMatchObject({ event_name: 'Bought at once', metadata_kv: ['direct=true'] });
    expect((await salesOf(link, 1))[0]).toMatchObject({ click_id: clickId, sale_type: 'new' });
    expect(await ingest.customer(customerExternalId)).toMatchObject({ name: 'Grace', clickId, linkId: link.id });

    await sale({ customerExternalId, amount: 1 });
    expect((await salesOf(link, 2)).find((row) => row.amount === '1')?.sale_type).toBe('recurring');
  });

  it('finds and records a lead by its name without the blanks around it, as leads are recorded', async () => {
    const { link, customerExternalId } = await aCustomer('First');
    expect((await sale({ customerExternalId, amount: 1, leadEventName: ' First\t' })).statusCode).toBe(200);
    await salesOf(link, 1);
    const other = await ingest.link({ trackConversion: true });
    const clickId = await ingest.click(other);
    await sale({ customerExternalId: someone(), clickId, amount: 1, leadEventName: ' Bought ' });
    expect((await leadsOf(other, 1))[0]).toMatchObject({ event_name: 'Bought' });
  });

  it('is recorded although another workspace has a sale with its invoice id, and does not show that one', async () => {
    const { link, customerExternalId } = await aCustomer();
    const invoiceId = anInvoice();
    await sale({ customerExternalId, amount: 700, invoiceId, metadata: { secret: true } });
    await salesOf(link, 1);
    const { workspace, apiKey } = await ingest.catalog.workspaces.create({
      ...{ name: 'Other', slug: 'other', plan: 'enterprise', domain: 'go.other.com' },
    });
    const theirs = await ingest.catalog.links.create(workspace.id, {
      ...{ domain: 'go.other.com', key: 'buy', url: 'https://other.com', trackConversion: true },
    });
    const clickId = await ingest.click(theirs, { host: 'go.other.com' });
    const body = { clickId, customerExternalId: someone(), amount: 100, invoiceId };
    const answer = await ingest.post('/track/sale', body, { authorization: `Bearer ${apiKey.token}` });
    expect(answer.json()).toMatchObject({ eventName: 'Purchase', sale: { amount: 100, invoiceId, metadata: null } });
    await salesOf(theirs, 1);
  });

  it('creates one customer and one lead for concurrent direct sales', async () => {
    const link = await ingest.link({ trackConversion: true });
    const clickId = await ingest.click(link);
    const customerExternalId = someone();
    await Promise.all(Array.from({ length: 8 }, () => sale({ customerExternalId, clickId, amount: 10 })));
    const rows = await salesOf(link, 8);
    expect(rows.filter((row) => row.sale_type === 'new')).toHaveLength(1);
    expect((await leadsOf(link, 1))[0]?.event_name).toBe('Direct sale tracking lead event');
    await ingest.customer(customerExternalId);
    expect(new Set(rows.map((row) => row.customer_id)).size).toBe(1);
  });

  it('a sale with an empty name is named Purchase', async () => {
    const { link, customerExternalId } = await aCustomer();
    expect((await sale({ customerExternalId, amount: 100, eventName: '' })).json()).toMatchObject({
      eventName: 'Purchase',
      sale: { amount: 100 },
    });
    expect((await salesOf(link, 1))[0]).toMatchObject({ event_name: 'Purchase' });
  });

  it('records nothing for an unknown customer without a click, and accepts the same invoice later', async () => {
    const customerExternalId = someone();
    const invoiceId = anInvoice();
    const early = await sale({ customerExternalId, amount: 100, invoiceId });
    expect(early.statusCode).toBe(200);
    expect(early.json()).toEqual({ eventName: 'Purchase', ...NOTHING });

    const link = await ingest.link({ trackConversion: true });
    await lead({ clickId: await ingest.click(link), eventName: 'a', customerExternalId });
    expect((await sale({ customerExternalId, amount: 100, invoiceId })).json()).toMatchObject({ sale: { invoiceId } });
    await salesOf(link, 1);
  });

  it.each([
    [
      { amount: 800, currency: 'EUR' },
      { amount: 1000, currency: 'usd' },
    ],
    [
      { amount: 1, currency: 'eur' },
      { amount: 1, currency: 'usd' },
    ],
    [
      { amount: 1500, currency: 'jpy' },
      { amount: 1000, currency: 'usd' },
    ],
    [
      { amount: 1500, currency: 'xxx' },
      { amount: 1500, currency: 'xxx' },
    ],
    [{ amount: 1500 }, { amount: 1500, currency: 'usd' }],
  ])('stores and answers %j as %j', async (given, stored) => {
    const { link, customerExternalId } = await aCustomer();
    const answer = await sale({ customerExternalId, ...given });
    expect(answer.json()).toMatchObject({ sale: stored });
    const [row] = await salesOf(link, 1);
    expect(row?.amount).toBe(String(stored.amount));
    expect(JSON.parse(String(row?.payload))).toMatchObject({ sale: stored });
  });

  it('is rejected for disabled links and unknown clicks, and can be retried', async () => {
    const { link, customerExternalId } = await aCustomer();
    const invoiceId = anInvoice();
    const setDisabled = (disabledAt: string | null) =>
      ingest.catalog.links.update(ingest.workspaceId, link.id, (record) => ({ ...record, disabledAt }));
    await setDisabled(new Date().toISOString());
    expect((await sale({ customerExternalId, amount: 100, invoiceId })).statusCode).toBe(404);
    await setDisabled(null);
    expect((await sale({ customerExternalId, amount: 100, invoiceId })).statusCode).toBe(200);
    await salesOf(link, 1);

    const unknown = { customerExternalId: someone(), clickId: createEventId(Date.now() - 90_000), amount: 1 };
    expect((await sale(unknown)).statusCode).toBe(404);
  });

  it('updates the totals of links and customers', async () => {
    const { link, customerExternalId } = await aCustomer();
    await sale({ customerExternalId, amount: 100, invoiceId: anInvoice() });
    await sale({ customerExternalId, amount: 250 });
    await salesOf(link, 2);
    const customer = await ingest.customer(customerExternalId);
    // Materialized views are updated shortly after their table.
    const ofLink = async () => (await ingest.catalog.links.counters(ingest.workspaceId, [link.id])).get(link.id);
    await expect
      .poll(ofLink, { timeout: 10_000 })
      .toMatchObject({ clicks: 1, leads: 1, sales: 2, saleAmount: 350, conversions: 1 });
    const ofCustomer = async () =>
      (await ingest.catalog.customers.counters(ingest.workspaceId, [customer.id])).get(customer.id);
    await expect.poll(ofCustomer, { timeout: 10_000 }).toMatchObject({ sales: 2, saleAmount: 350 });
  });

  it.each([
    [{}, 400],
    [{ amount: 1 }, 400],
    [{ customerExternalId: 'c' }, 400],
    [{ customerExternalId: 'c', amount: null }, 400],
    [{ customerExternalId: 'c', amount: '1' }, 400],
    [{ customerExternalId: 'c', amount: 1.5 }, 400],
    [{ customerExternalId: 'c', amount: -1 }, 422],
    [{ customerExternalId: 'c', amount: 1, currency: 'dollar' }, 422],
    [{ customerExternalId: 'c', amount: 1, currency: '12$' }, 422],
    [{ customerExternalId: 'c', amount: 1, paymentProcessor: 'cash' }, 422],
    [{ customerExternalId: 'c', amount: 1, eventName: 'x'.repeat(256) }, 422],
    [{ customerExternalId: 'c', amount: 1, metadata: { a: 'x'.repeat(10_000) } }, 422],
  ])('refuses %j with %i', async (body, status) => {
    const answer = await sale(body);
    expect(answer.statusCode).toBe(status);
    expect(answer.json()).toMatchObject({ error: { code: status === 400 ? 'bad_request' : 'unprocessable_entity' } });
  });
});

describe('interrupted requests', () => {
  it('a claim whose owner crashed is waited for, and taken when it expires', async () => {
    const { link, customerExternalId } = await aCustomer();
    const invoiceId = anInvoice();
    const name = invoiceClaim(ingest.workspaceId, invoiceId);
    await ingest.producer.claims.take([name], 'a request whose process was killed');

    const early = await sale({ customerExternalId, amount: 100, invoiceId });
    expect(early.statusCode).toBe(500);
    expect(early.headers['retry-after']).toBe('1');

    await ingest.redisClient.pexpire(`{waymark}:claim:${name}`, 300);
    expect((await sale({ customerExternalId, amount: 100, invoiceId })).json()).toMatchObject({ sale: { invoiceId } });
    await salesOf(link, 1);
  });

  it('Redis unavailable: 500 with Retry-After and nothing recorded', async () => {
    const { link, customerExternalId } = await aCustomer();
    const invoiceId = anInvoice();
    await ingest.redis.kill9();
    const away = await sale({ customerExternalId, amount: 100, invoiceId });
    await ingest.redis.restart();
    expect(away.statusCode).toBe(500);
    expect(away.headers['retry-after']).toBe('1');
    const again = async () => {
      const answer = await sale({ customerExternalId, amount: 100, invoiceId });
      return answer.statusCode === 200 && answer;
    };
    await expect.poll(again, { timeout: 10_000 }).toBeTruthy();
    await salesOf(link, 1);
  });
});
