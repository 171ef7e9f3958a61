import type { LinkRecord } from '@waymark/catalog';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { aWorkspace, startQuery, type TestQuery, type TestWorkspace } from './test-query.js';

let query: TestQuery;
let workspace: TestWorkspace;
let link: LinkRecord;

beforeAll(async () => {
  query = await startQuery();
  workspace = await aWorkspace(query);
  link = await workspace.aLink({ key: 'try' });
  const customer = await workspace.aCustomer({ externalId: 'ada' });
  const clicks = [
    workspace.click(link, 5),
    workspace.click(link, 4, { country: 'US', region: 'CA', city: 'Los Angeles', continent: 'NA' }),
    workspace.click(link, 3, { country: 'US', region: 'NY', city: 'New York', continent: 'NA' }),
    workspace.click(link, 2, { country: 'Unknown', region: 'Unknown', city: 'Unknown', continent: '' }),
    workspace.click(link, 26 * 60),
  ];
  await workspace.store({
    clicks,
    leads: [workspace.lead(clicks[0]!, customer, 3), workspace.lead(clicks[4]!, customer, 2)],
    sales: [workspace.sale(clicks[1]!, customer, 1, { amount: 2900 })],
  });
});
afterAll(() => query.close());

const zeros = { clicks: 0, leads: 0, sales: 0, saleAmount: 0 };

describe('which numbers are filled', () => {
  test.each([
    ['clicks', { ...zeros, clicks: 4 }],
    ['leads', { ...zeros, leads: 2 }],
    ['sales', { ...zeros, sales: 1, saleAmount: 2900 }],
    ['composite', { clicks: 4, leads: 2, sales: 1, saleAmount: 2900 }],
  ])('%s measures its own and leaves the others 0', async (event, expected) => {
    expect((await workspace.analytics({ event })).body).toEqual(expected);
  });
});

test('countries are counted, the biggest first, what is not known apart', async () => {
  expect((await workspace.analytics({ groupBy: 'countries' })).body).toEqual([
    { country: 'US', region: '*', city: '*', ...zeros, clicks: 2 },
    { country: 'FR', region: '*', city: '*', ...zeros, clicks: 1 },
  ]);
});
