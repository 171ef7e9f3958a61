import { afterAll, beforeAll, expect, it } from 'vitest';
import { startIngest, type TestIngest } from '../test-ingest.js';

let ingest: TestIngest;
let publishable: string;
beforeAll(async () => {
  ingest = await startIngest();
  const role = { kind: 'publishable', role: 'owner', scopes: [] } as const;
  publishable = (await ingest.catalog.keys.create({ workspaceId: ingest.workspaceId, name: 'Page', ...role })).token;
});
afterAll(() => ingest.stop());

it.each(['lead', 'sale', 'lead/client', 'sale/client'])(
  'empty texts of a new customer count as absent, and do not cost the conversion: /track/%s',
  async (route) => {
    const clickId = await ingest.click(await ingest.link({ trackConversion: true }));
    const details = { customerName: '', customerEmail: '', customerAvatar: '' };
    const body = { clickId, eventName: 'Sign up', customerExternalId: `empty ${route}`, amount: 100, ...details };
    const headers: Record<string, string> = route.endsWith('client') ? { authorization: `Bearer ${publishable}` } : {};
    const answer = await ingest.post(`/track/${route}`, body, headers);
    expect(answer.statusCode, answer.body).toBe(200);
    const customer = await ingest.customer(body.customerExternalId);
    expect(customer).toMatchObject({ email: null, avatar: null, name: expect.stringMatching(/./) });
    const [table] = route.split('/');
    await ingest.rowsWhen(1, `${table}_events`, 'click_id = {click:String}', { click: clickId });
  },
);

it.each(['ada', 'ada@', ' ', 'ada@acme.com,'])('an email that is none is refused: %j', async (customerEmail) => {
  const body = { clickId: 'x', eventName: 'Sign up', customerExternalId: 'ada', customerEmail };
  expect((await ingest.post('/track/lead', body)).statusCode).toBe(422);
});
