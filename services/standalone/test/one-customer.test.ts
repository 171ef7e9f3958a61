import { waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { BROWSER, startWholeApi, type WholeApi } from './whole-api.js';

// Customers are made by leads and by POST /customers: an external id belongs to one of them, whoever comes first.

const CUSTOMERS = 40;
let api: WholeApi;
let key: string;
let clickId: string;

async function post(path: string, body: object): Promise<Response> {
  return fetch(`${api.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

beforeAll(async () => {
  api = await startWholeApi();
  const { apiKey, publishableKey } = await api.catalog.workspaces.create({
    ...{ name: 'Acme', slug: 'acme', plan: 'enterprise', domain: 'go.acme.com' },
  });
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

it('a lead and a creation of the same customer at the same moment make one customer', async () => {
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
    { what: 'every customer', timeoutMs: 20_000 },
  );
  expect(rows.filter(({ customers }) => customers !== '1')).toEqual([]);
  for (const number of [0, 1]) {
    const again = await post('/customers', { externalId: `customer-${number}`, country: 'FR' });
    expect(again.status).toBe(409);
  }
});
