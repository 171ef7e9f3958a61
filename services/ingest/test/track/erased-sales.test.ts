import { invoiceClaim } from '@waymark/event-queue';
import { waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startIngest, type TestIngest } from '../test-ingest.js';

let ingest: TestIngest;
beforeAll(async () => {
  ingest = await startIngest();
});
afterAll(() => ingest.stop());

it('a repeated invoice does not show the metadata of a person whose erasure was accepted and is not carried out yet', async () => {
  const { catalog, workspaceId, redisClient } = ingest;
  const clickId = await ingest.click(await ingest.link({ trackConversion: true }));
  const [customerExternalId, invoiceId] = ['erased', 'INV-1'];
  const body = { clickId, customerExternalId, amount: 100, invoiceId, metadata: { city: 'Paris' } };
  await ingest.post('/track/sale', body);
  const { id } = await ingest.customer(customerExternalId);
  await ingest.rowsWhen(1, 'sale_events', 'invoice_id = {id:String}', { id: invoiceId });
  // As after the day for which Redis keeps the answer.
  const expire = (name: string) => redisClient.del(`{waymark}:claim:${name}`);
  const repeat = async () => {
    for (const name of [invoiceClaim(workspaceId, invoiceId), `filters:${workspaceId}`]) await expire(name);
    return (await ingest.post('/track/sale', { ...body, metadata: null })).json();
  };
  expect((await repeat()).sale).toMatchObject({ invoiceId, metadata: { city: 'Paris' } });
  await catalog.erasures.accept(workspaceId, { externalId: customerExternalId, customerIds: [id] }, 'anonymise');
  await waitFor(() => catalog.erasures.people.peek()?.modeOfId(workspaceId, id), { what: 'the erasure' });
  expect((await repeat()).sale).toMatchObject({ invoiceId, metadata: null });
});
