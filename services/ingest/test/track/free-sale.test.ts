import type { LinkRecord } from '@waymark/catalog';
import { parseResourceId } from '@waymark/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startIngest, type TestIngest } from '../test-ingest.js';

let ingest: TestIngest;
beforeAll(async () => {
  ingest = await startIngest();
  ingest.startWriter();
});
afterAll(() => ingest.stop());

let texts = 0;
const newText = () => {
  texts += 1;
  return `text-${texts}`;
};
const sale = (body: unknown) => ingest.post('/track/sale', body);
const rowsOf = (table: 'lead_events' | 'sale_events', { id }: LinkRecord, count: number) =>
  ingest.rowsWhen(count, table, 'link_id = {link:UInt64}', { link: parseResourceId('link', id) });
const aLink = () => ingest.link({ trackConversion: true });
const NOTHING = { eventName: 'Purchase', customer: null, sale: null };

async function aLead(link: LinkRecord, customerExternalId: string, eventName: string) {
  const clickId = await ingest.click(link);
  expect((await ingest.post('/track/lead', { clickId, eventName, customerExternalId })).statusCode).toBe(200);
}

describe('POST /track/sale with an amount of 0', () => {
  it.each<[string, (link: LinkRecord, customerExternalId: string) => Promise<unknown>]>([
    [
      'without any lead',
      (_link, externalId) => ingest.catalog.customers.create(ingest.workspaceId, { externalId, country: 'US' }),
    ],
    ['without a lead of that name', (link, externalId) => aLead(link, externalId, 'Another')],
    [
      'whose link is disabled',
      async (link, externalId) => {
        await aLead(link, externalId, 'Sign up');
        const disabledAt = new Date().toISOString();
        await ingest.catalog.links.update(ingest.workspaceId, link.id, (record) => ({ ...record, disabledAt }));
      },
    ],
    [
      'whose link is gone',
      async (link, externalId) => {
        await aLead(link, externalId, 'Sign up');
        await ingest.catalog.links.removeMany(ingest.workspaceId, [link.id]);
      },
    ],
  ])('answers 200 for a known customer %s, where other amounts are 404', async (_what, prepare) => {
    const [link, customerExternalId, invoiceId] = [await aLink(), newText(), newText()];
    await prepare(link, customerExternalId);
    const body = { customerExternalId, leadEventName: 'Sign up', invoiceId };
    for (const clickId of [undefined, 'unknown', await ingest.click(await aLink())]) {
      const free = await sale({ ...body, clickId, amount: 0 });
      expect([free.statusCode, free.json()]).toEqual([200, NOTHING]);
      expect((await sale({ ...body, clickId, amount: 1 })).statusCode).toBe(404);
    }
  });

  it('records no sale, and leaves the invoice to the sale that has an amount', async () => {
    const [link, customerExternalId, invoiceId] = [await aLink(), newText(), newText()];
    await aLead(link, customerExternalId, 'Sign up');
    expect((await sale({ customerExternalId, amount: 0, invoiceId })).json()).toEqual(NOTHING);
    const paid = await sale({ customerExternalId, amount: 9, invoiceId });
    expect(paid.json()).toMatchObject({ sale: { amount: 9 } });
    expect((await sale({ customerExternalId, amount: 0, invoiceId })).json()).toEqual(paid.json());
    await rowsOf('sale_events', link, 1);
  });

  it('records the customer and the lead of a direct sale, whose click must exist', async () => {
    const [link, customerExternalId, invoiceId] = [await aLink(), newText(), newText()];
    const body = { customerExternalId, invoiceId, amount: 0 };
    expect((await sale({ ...body, clickId: 'unknown' })).statusCode).toBe(404);
    const clickId = await ingest.click(link);
    expect((await sale({ ...body, clickId })).json()).toEqual(NOTHING);
    await rowsOf('lead_events', link, 1);
    await ingest.customer(customerExternalId);
    expect((await sale({ ...body, amount: 5 })).json()).toMatchObject({ sale: { amount: 5, invoiceId } });
    await rowsOf('sale_events', link, 1);
  });
});
