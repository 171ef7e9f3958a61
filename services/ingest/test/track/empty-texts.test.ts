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

const sale = (body: object) => ingest.post('/track/sale', { amount: 100, ...body });
const rowsOf = (table: 'lead_events' | 'sale_events', { id }: LinkRecord, count: number) =>
  ingest.rowsWhen(count, table, 'link_id = {link:UInt64}', { link: parseResourceId('link', id) });

/** Creates a link, and customers with a lead on it. */
async function aLinkWith(...customers: string[]): Promise<LinkRecord> {
  const link = await ingest.link({ trackConversion: true });
  for (const customerExternalId of customers) {
    const clickId = await ingest.click(link);
    const answer = await ingest.post('/track/lead', { clickId, eventName: 'Sign up', customerExternalId });
    expect(answer.statusCode).toBe(200);
  }
  return link;
}

// Servers that fill a template send empty texts for what they lack.
describe('an empty text of POST /track/sale counts as absent', () => {
  it('as invoiceId: it is no invoice that later sales repeat', async () => {
    const link = await aLinkWith('ada', 'grace');
    const sent = [
      ['ada', ''],
      ['ada', ''],
      ['grace', '  '],
      ['grace', null],
    ] as const;
    for (const [customerExternalId, invoiceId] of sent) {
      const answer = await sale({ customerExternalId, invoiceId });
      expect([answer.statusCode, answer.json()]).toMatchObject([
        200,
        { customer: { externalId: customerExternalId }, sale: { invoiceId: null } },
      ]);
    }
    await rowsOf('sale_events', link, sent.length);
  });

  it('as leadEventName: the sale belongs to the latest lead', async () => {
    const link = await aLinkWith('edsger');
    expect((await sale({ customerExternalId: 'edsger', leadEventName: ' ' })).statusCode).toBe(200);
    await rowsOf('sale_events', link, 1);
  });

  it('as leadEventName of a sale with a click: its lead has the name of such leads', async () => {
    const link = await aLinkWith();
    const clickId = await ingest.click(link);
    expect((await sale({ customerExternalId: 'alan', clickId, leadEventName: '' })).statusCode).toBe(200);
    expect(await rowsOf('lead_events', link, 1)).toMatchObject([{ event_name: 'Direct sale tracking lead event' }]);
  });

  it('as clickId: nothing is recorded for an unknown customer', async () => {
    const answer = await sale({ customerExternalId: 'nobody', clickId: '' });
    expect([answer.statusCode, answer.json()]).toMatchObject([200, { customer: null, sale: null }]);
  });
});
