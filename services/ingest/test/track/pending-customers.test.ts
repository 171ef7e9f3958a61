import { waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startIngest, type TestIngest } from '../test-ingest.js';

let ingest: TestIngest;
beforeAll(async () => {
  ingest = await startIngest();
  ingest.startWriter();
});
afterAll(() => ingest.stop());

const BY_LEAD = { eventName: 'Sign up', customerName: 'Ada' };

it.each([
  ['a lead', '/track/lead', BY_LEAD],
  ['a deferred lead', '/track/lead', { ...BY_LEAD, mode: 'deferred' }],
  ['a direct sale', '/track/sale', { amount: 2900, customerName: 'Ada' }],
])('a customer that %s brings is found before it is written, as it is written', async (_what, path, body) => {
  const { catalog, workspaceId } = ingest;
  const clickId = await ingest.click(await ingest.link({ trackConversion: true }));
  await ingest.stopWriter();
  const customerExternalId = `of ${path} ${Object.keys(body)}`;
  expect((await ingest.post(path, { ...body, clickId, customerExternalId })).statusCode).toBe(200);
  const pending = await catalog.customers.findByExternalId(workspaceId, customerExternalId);
  expect(pending).toMatchObject({ externalId: customerExternalId, name: 'Ada', clickId });
  ingest.startWriter();
  const [row] = await ingest.rowsWhen(1, 'customers', 'external_id = {id:String}', { id: customerExternalId });
  expect(JSON.parse(String(row?.data))).toEqual(pending);
  await waitFor(async () => (await ingest.redisClient.keys('*pending-customer*')).length === 0, {
    what: 'nothing to be pending',
  });
});
