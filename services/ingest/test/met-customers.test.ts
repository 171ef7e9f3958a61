import { createMetCustomers } from '@waymark/event-queue';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startIngest, type TestIngest } from './test-ingest.js';

let ingest: TestIngest;
beforeAll(async () => {
  ingest = await startIngest();
}, 60_000);
afterAll(() => ingest.stop());

const BY_LEAD = { eventName: 'Sign up', customerName: 'Ada' };

it.each([
  ['a lead', '/track/lead', BY_LEAD],
  ['a deferred lead', '/track/lead', { ...BY_LEAD, mode: 'deferred' }],
  ['a direct sale', '/track/sale', { amount: 2900, customerName: 'Ada' }],
])('a customer that %s brings is found by its id in Redis, as it is written', async (_what, path, body) => {
  const clickId = await ingest.click(await ingest.link({ trackConversion: true }));
  const customerExternalId = `of ${path} ${Object.keys(body)}`;
  expect((await ingest.post(path, { ...body, clickId, customerExternalId })).statusCode).toBe(200);
  const written = await ingest.customer(customerExternalId);
  const met = await createMetCustomers(ingest.redisClient).read(['cus_0000000009Z', written.id], Date.now());
  expect([...met].map(([id, text]) => [id, JSON.parse(text)])).toEqual([[written.id, written]]);
});
