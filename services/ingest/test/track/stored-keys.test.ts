import { createClaimAdmin, customerClaim, invoiceClaim } from '@waymark/event-queue';
import { waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { startIngest, type TestIngest } from '../test-ingest.js';

let ingest: TestIngest;
let clickId: string;
beforeAll(async () => {
  ingest = await startIngest();
  ingest.startWriter();
  clickId = await ingest.click(await ingest.link({ trackConversion: true }));
});
afterAll(() => ingest.stop());

let made = 0;
const newText = () => `text ${++made}`;
const stored = (externalId: string) => ingest.rows('customers', 'external_id = {id:String}', { id: externalId });
const salesOf = (invoiceId: string) => ingest.rows('sale_events', 'invoice_id = {id:String}', { id: invoiceId });

async function lead(customerExternalId: string, eventName = 'Sign up') {
  const answer = await ingest.post('/track/lead', { clickId, eventName, customerExternalId });
  expect(answer.statusCode).toBe(200);
  return answer.json();
}

async function sale(customerExternalId: string, invoiceId: string) {
  const answer = await ingest.post('/track/sale', { amount: 500, invoiceId, customerExternalId });
  expect(answer.statusCode).toBe(200);
  return answer.json();
}

/** How many statements of ClickHouse a request waits for or starts. */
async function statementsOf(work: () => Promise<unknown>): Promise<number> {
  const rows = vi.spyOn(ingest.clickhouse, 'rows');
  try {
    await work();
    return rows.mock.calls.length;
  } finally {
    rows.mockRestore();
  }
}

const allStored = async (externalId: string) => {
  await ingest.customer(externalId);
  const isStored = async (kind: 'customer' | 'lead' | 'sale') =>
    (await ingest.producer.oldestQueuedMs(kind)) === undefined;
  for (const kind of ['customer', 'lead', 'sale'] as const)
    await waitFor(() => isStored(kind), { what: `the queue of each ${kind} to be empty` });
};

/** A customer with a lead and a sale, both stored. */
async function aBuyer() {
  const [externalId, invoiceId] = [newText(), newText()];
  await lead(externalId);
  await sale(externalId, invoiceId);
  await allStored(externalId);
  return { externalId, invoiceId };
}

const block = () => createClaimAdmin(ingest.redisClient).blockFilters(ingest.workspaceId);
const removeClaims = (...names: string[]) => createClaimAdmin(ingest.redisClient).remove(names);
const claimsOf = ({ externalId, invoiceId }: { externalId: string; invoiceId: string }) => [
  customerClaim(ingest.workspaceId, externalId),
  invoiceClaim(ingest.workspaceId, invoiceId),
];

/** Waits until leads and sales of new customers are accepted without ClickHouse. */
async function filtersLoaded(): Promise<void> {
  const isFree = async () => {
    const externalId = newText();
    const statements = await statementsOf(async () => {
      await lead(externalId);
      await sale(externalId, newText());
    });
    return statements === 0;
  };
  await waitFor(isFree, { what: 'leads and sales without statements' });
}

describe('leads and sales', () => {
  // Each test has an app of its own, and so filters that begin anew.
  beforeEach(async () => {
    await ingest.stop();
    ingest = await startIngest();
    ingest.startWriter();
    // In a Redis that never had a mark, the first filter would be loaded only after half a minute.
    await ingest.redisClient.set(`{waymark}:claim:filters-seen:${ingest.workspaceId}`, '1');
    clickId = await ingest.click(await ingest.link({ trackConversion: true }));
  });

  it('of new customers need no query of ClickHouse once its keys are loaded, and are recorded once', async () => {
    await filtersLoaded();
    const [externalId, invoiceId] = [newText(), newText()];
    const statements = await statementsOf(async () => {
      expect(await lead(externalId)).toMatchObject({ click: { id: clickId }, link: { key: expect.any(String) } });
      expect(await lead(externalId)).toMatchObject({ link: null, customer: { externalId } });
      const first = await sale(externalId, invoiceId);
      expect(await sale(externalId, invoiceId)).toEqual(first);
      await sale(externalId, newText());
    });
    expect(statements).toBe(0);
    await allStored(externalId);
    expect(await stored(externalId)).toHaveLength(1);
    expect(await salesOf(invoiceId)).toHaveLength(1);
  });

  it('of what ClickHouse had before are found, without any claim', async () => {
    const buyer = await aBuyer();
    await removeClaims(...claimsOf(buyer));
    await filtersLoaded();
    const first = await sale(buyer.externalId, buyer.invoiceId);
    expect(first.sale).toMatchObject({ invoiceId: buyer.invoiceId, amount: 500 });
    await lead(buyer.externalId, 'Upgrade');
    const other = await aBuyer();
    await allStored(other.externalId);
    expect(await stored(buyer.externalId)).toHaveLength(1);
    expect(await salesOf(buyer.invoiceId)).toHaveLength(1);
  });

  it('of what was stored since are found after a change that removes claims has blocked the filters', async () => {
    await filtersLoaded();
    const buyer = await aBuyer();
    await block();
    await removeClaims(...claimsOf(buyer));
    await sale(buyer.externalId, buyer.invoiceId);
    await lead(buyer.externalId, 'Upgrade');
    const other = await aBuyer();
    await allStored(other.externalId);
    expect(await stored(buyer.externalId)).toHaveLength(1);
    expect(await salesOf(buyer.invoiceId)).toHaveLength(1);
  });

  it('of what was stored since are found after Redis has lost its data', async () => {
    await filtersLoaded();
    const buyer = await aBuyer();
    await ingest.redisClient.flushall();
    const { statusCode } = await ingest.post('/track/sale', {
      ...{ amount: 500, invoiceId: buyer.invoiceId, customerExternalId: buyer.externalId },
    });
    expect(statusCode).toBe(200);
    await lead(buyer.externalId, 'Upgrade');
    const other = await aBuyer();
    await allStored(other.externalId);
    expect(await stored(buyer.externalId)).toHaveLength(1);
    expect(await salesOf(buyer.invoiceId)).toHaveLength(1);
  });

  it('query ClickHouse while filters are blocked', async () => {
    await block();
    for (let count = 0; count < 3; count++) {
      expect(await statementsOf(() => lead(newText()))).toBeGreaterThan(0);
    }
  });

  it('query ClickHouse while the queue is behind', async () => {
    await lead(newText());
    await ingest.stopWriter();
    const late = vi.spyOn(ingest.producer, 'oldestQueuedMs').mockResolvedValue(Date.now() - 40_000);
    for (let count = 0; count < 3; count++) {
      expect(await statementsOf(() => lead(newText()))).toBeGreaterThan(0);
    }
    late.mockRestore();
  });
});
