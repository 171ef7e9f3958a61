import { customerClaim, QUEUE_PREFIX } from '@waymark/event-queue';
import { waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { BROWSER, startWholeApi, type WholeApi } from '../contract/whole-api.js';

// Leads and POST /customers both create customers: an external id belongs to one customer, whichever request comes first.

const CUSTOMERS = 40;
let api: WholeApi;
let workspaceId: string;
let key: string;
let clickId: string;

function send(method: string, path: string, body?: object): Promise<Response> {
  return fetch(`${api.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

const post = (path: string, body: object) => send('POST', path, body);

/** Creates a customer by a lead, and waits until the writer has stored both. */
async function aCustomerWithLead(externalId: string): Promise<void> {
  expect((await post('/track/lead', { clickId, eventName: 'Sign up', customerExternalId: externalId })).status).toBe(
    200,
  );
  await waitFor(
    async () => {
      const found = await send('GET', `/events?event=leads&interval=24h&limit=1000`);
      return found.ok && (await found.text()).includes(`"externalId":"${externalId}"`);
    },
    { what: `the lead of ${externalId}` },
  );
}

const sell = (customerExternalId: string) => post('/track/sale', { customerExternalId, amount: 100 });

beforeAll(async () => {
  api = await startWholeApi();
  const { workspace, apiKey, publishableKey } = await api.catalog.workspaces.create({
    ...{ name: 'Acme', slug: 'acme', plan: 'enterprise', domain: 'go.acme.com' },
  });
  workspaceId = workspace.id;
  key = apiKey.token;
  api.startWriter();
  expect((await post('/links', { domain: 'go.acme.com', key: 'try', url: 'https://acme.com' })).status).toBe(200);
  const clicked = await fetch(`${api.url}/track/click`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${publishableKey.token}`,
      'content-type': 'application/json',
      'user-agent': BROWSER,
    },
    body: JSON.stringify({ domain: 'go.acme.com', key: 'try' }),
  });
  clickId = ((await clicked.json()) as { clickId: string }).clickId;
});
afterAll(() => api.close());

it('a concurrent lead and creation of the same customer create one customer', async () => {
  const outcomes = await Promise.all(
    Array.from({ length: CUSTOMERS }, async (_none, number) => {
      const externalId = `customer-${number}`;
      const lead = () => post('/track/lead', { clickId, eventName: 'Sign up', customerExternalId: externalId });
      const create = () => post('/customers', { externalId, country: 'FR' });
      const [first, second] = await Promise.all(number % 2 === 0 ? [lead(), create()] : [create(), lead()]);
      return (number % 2 === 0 ? [first, second] : [second, first]).map(({ status }) => status);
    }),
  );
  for (const [lead, created] of outcomes) {
    expect(lead).toBe(200);
    expect([201, 409]).toContain(created);
  }
  const rows = await waitFor(
    async () => {
      const result = await api.database.client.query({
        query: 'SELECT external_id, uniqExact(id) AS customers FROM customers GROUP BY external_id',
        format: 'JSONEachRow',
      });
      const found = await result.json<{ customers: string }>();
      return found.length === CUSTOMERS ? found : undefined;
    },
    { what: 'every customer' },
  );
  expect(rows.filter(({ customers }) => customers !== '1')).toEqual([]);
  for (const number of [0, 1]) {
    const again = await post('/customers', { externalId: `customer-${number}`, country: 'FR' });
    expect(again.status).toBe(409);
  }
});

it('a new customer does not get the leads of a deleted customer with the same external id', async () => {
  await aCustomerWithLead('deleted');
  expect((await sell('deleted')).status).toBe(200);
  expect((await send('DELETE', '/customers/ext_deleted')).status).toBe(200);
  expect((await post('/customers', { externalId: 'deleted', country: 'FR' })).status).toBe(201);
  const sold = await sell('deleted');
  expect([sold.status, await sold.text()]).toEqual([404, expect.stringContaining('No lead found')]);

  // Its own leads count at once.
  const lead = { clickId, eventName: 'Second life', customerExternalId: 'deleted' };
  expect((await post('/track/lead', lead)).status).toBe(200);
  expect((await sell('deleted')).status).toBe(200);
});

it('a new customer does not get the leads of a customer that had its external id before, who keeps them', async () => {
  await aCustomerWithLead('renamed');
  expect((await send('PATCH', '/customers/ext_renamed', { externalId: 'renamed-to' })).status).toBe(200);
  expect((await post('/customers', { externalId: 'renamed', country: 'FR' })).status).toBe(201);
  expect((await sell('renamed')).status).toBe(404);
  expect((await sell('renamed-to')).status).toBe(200);
});

it('a customer whose creation has an unknown outcome is not created a second time by a lead before it is stored', async () => {
  const { client } = api.database;
  const insert = client.insert.bind(client);
  let store: (() => Promise<unknown>) | undefined;
  // The connection breaks after the request has reached the server, which is slow.
  client.insert = ((params: Parameters<typeof insert>[0]) => {
    if (params.table !== 'customers' || store !== undefined) return insert(params);
    store = () => insert(params);
    return Promise.reject(Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }));
  }) as typeof client.insert;
  const lead = () => post('/track/lead', { clickId, eventName: 'Sign up', customerExternalId: 'slow' });
  expect((await post('/customers', { externalId: 'slow', country: 'FR' })).status).toBe(500);
  const early = await lead();
  await store?.();

  expect([early.status, early.headers.get('retry-after')]).toEqual([500, '1']);
  // The claim of the creation expires.
  const redis = new Redis(api.redisUrl);
  await redis.del(`${QUEUE_PREFIX}:claim:${customerClaim(workspaceId, 'slow')}`);
  redis.disconnect();
  expect((await lead()).status).toBe(200);
  const rows = await client.rows<[string]>({
    query: `SELECT DISTINCT toString(id) FROM customers WHERE external_id = 'slow'`,
  });
  expect(rows).toHaveLength(1);
});

it.each([
  ['renamed', 'PATCH', { externalId: 'unknown-renamed-to' }],
  ['deleted', 'DELETE', undefined],
] as const)(
  'an external id whose customer was %s with an unknown outcome gets a new customer',
  async (change, method, body) => {
    const externalId = `unknown-${change}`;
    await aCustomerWithLead(externalId);
    const customerOf = async (answer: Response) => ((await answer.json()) as { customer: { id: string } }).customer.id;
    const before = await customerOf(await sell(externalId));
    const lead = (eventName: string) => post('/track/lead', { clickId, eventName, customerExternalId: externalId });
    const { client } = api.database;
    const insert = client.insert.bind(client);
    let meanwhile: Promise<Response> | undefined;
    // An event of the external id arrives before the change is stored, and the answer of the insert is lost.
    client.insert = (async (params: Parameters<typeof insert>[0]) => {
      if (params.table !== 'customers' || meanwhile !== undefined) return insert(params);
      meanwhile = lead('Meanwhile');
      await Promise.race([meanwhile, waitFor(isClaimPending, { what: 'the claim of the change' })]);
      await insert(params);
      throw Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });
    }) as typeof client.insert;
    const redis = new Redis(api.redisUrl);
    const claim = `${QUEUE_PREFIX}:claim:${customerClaim(workspaceId, externalId)}`;
    const isClaimPending = async () => (await redis.get(claim))?.startsWith('p:') === true;

    try {
      expect((await send(method, `/customers/ext_${externalId}`, body)).status).toBe(500);
      await meanwhile;
      // A claim that is pending expires.
      if (await isClaimPending()) await redis.del(claim);
      expect((await lead('Afterwards')).status).toBe(200);
      expect(await customerOf(await sell(externalId))).not.toBe(before);
    } finally {
      client.insert = insert;
      redis.disconnect();
    }
  },
);
