import { readFileSync } from 'node:fs';
import type { LinkRecord } from '@waymark/catalog';
import { parseResourceId } from '@waymark/contract';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startIngest, type TestIngest } from '../test-ingest.js';

/** What docs/reference/tracking.md says a publishable key does to the sales of known customers, and that its remedy helps. */

const PAGE = readFileSync(new URL('../../../../docs/reference/tracking.md', import.meta.url), 'utf8');
const SIGN_UP = 'Sign up';

let ingest: TestIngest;
let publishable: string;
/** The link that brought the customers, and that of somebody who has the publishable key. */
let first: LinkRecord;
let other: LinkRecord;
let clickOfOther: string;
beforeAll(async () => {
  ingest = await startIngest();
  ingest.startWriter();
  const { workspaceId } = ingest;
  publishable = (
    await ingest.catalog.keys.create({ workspaceId, name: 'Page', kind: 'publishable', role: 'owner', scopes: [] })
  ).token;
  first = await ingest.link({ trackConversion: true });
  other = await ingest.link({ trackConversion: true });
  clickOfOther = await ingest.click(other);
});
afterAll(() => ingest.stop());

async function post(path: string, body: object, headers: Record<string, string> = {}): Promise<void> {
  expect((await ingest.post(path, body, headers)).statusCode).toBe(200);
}
const fromPage = (what: 'lead' | 'sale', body: object) =>
  post(`/track/${what}/client`, body, { authorization: `Bearer ${publishable}` });

/** A customer whom the server has reported, with a lead of the first link. */
async function signUp(customerExternalId: string): Promise<string> {
  await post('/track/lead', { clickId: await ingest.click(first), customerExternalId, eventName: SIGN_UP });
  return customerExternalId;
}

/** The link for which a sale counts. */
async function linkOfSale(invoiceId: string): Promise<string> {
  const [row] = await ingest.rowsWhen(1, 'sale_events', 'invoice_id = {id:String}', { id: invoiceId });
  return String(row?.link_id);
}
const numberOf = ({ id }: LinkRecord) => String(parseResourceId('link', id));

it('a lead of a new name takes the later sales of a known customer, but not those with leadEventName', async () => {
  const customerExternalId = await signUp('bob');
  await post('/track/sale', { customerExternalId, amount: 4900, invoiceId: 'bob-1' });
  for (const mode of ['wait', 'deferred', 'async'])
    await fromPage('lead', { clickId: clickOfOther, customerExternalId, eventName: SIGN_UP, mode });
  await post('/track/sale', { customerExternalId, amount: 4900, invoiceId: 'bob-2' });
  await fromPage('lead', { clickId: clickOfOther, customerExternalId, eventName: 'another name', mode: 'wait' });
  await post('/track/sale', { customerExternalId, amount: 4900, invoiceId: 'bob-3' });
  await post('/track/sale', { customerExternalId, amount: 4900, invoiceId: 'bob-4', leadEventName: SIGN_UP });
  const links = await Promise.all(['bob-1', 'bob-2', 'bob-3', 'bob-4'].map(linkOfSale));
  expect(links).toEqual([first, first, other, first].map(numberOf));
  // The first touch stays.
  expect((await ingest.customer(customerExternalId)).linkId).toBe(first.id);
});

it('a sale for a known customer counts for the link of the latest lead, whoever reports it', async () => {
  const customerExternalId = await signUp('alice');
  await fromPage('sale', { customerExternalId, amount: 1, invoiceId: 'alice-1' });
  expect(await linkOfSale('alice-1')).toBe(numberOf(first));
});

it('the page says both, and the remedy', () => {
  const [, section = ''] = /## What a publishable key can do\n([\s\S]+?)\n## /.exec(PAGE) ?? [];
  for (const words of ['later sales of a known customer', 'on the link of the latest lead', '`leadEventName`'])
    expect(section).toContain(words);
});
