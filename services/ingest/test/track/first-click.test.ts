import { parseResourceId } from '@waymark/contract';
import { CUSTOMER_CLAIM_MS, createClaimAdmin, customerClaim, type EventProducer } from '@waymark/event-queue';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startIngest, type TestIngest } from '../test-ingest.js';

// A customer who is made by `POST /customers` has no click: the first lead that names one attributes the customer to it.

const CONCURRENT = 12;
let ingest: TestIngest;
beforeAll(async () => {
  ingest = await startIngest();
  ingest.startWriter();
});
afterAll(() => ingest.stop());

let customers = 0;
const lead = (body: object) => ingest.post('/track/lead', { eventName: 'Sign up', ...body });
const leadsOf = (customerId: string, count: number) =>
  ingest.rowsWhen(count, 'lead_events', 'customer_id = {customer:UInt64}', {
    customer: parseResourceId('customer', customerId),
  });
const claimOf = (externalId: string) => customerClaim(ingest.workspaceId, externalId);

async function aClick(fields: object = {}) {
  const link = await ingest.link({ trackConversion: true, ...fields });
  return { link, clickId: await ingest.click(link) };
}

/** Makes a customer as `POST /customers` does. @param isRecent whether the claim still has the copy of the customer */
async function aCustomer(isRecent: boolean, country: string | null = 'FR'): Promise<string> {
  customers += 1;
  const externalId = `crm ${customers}`;
  const claims = createClaimAdmin(ingest.redisClient);
  await claims.blockFilters(ingest.workspaceId);
  const create = () => ingest.catalog.customers.create(ingest.workspaceId, { externalId, country });
  await claims.runOnce(claimOf(externalId), CUSTOMER_CLAIM_MS, create);
  if (!isRecent) await claims.remove([claimOf(externalId)]);
  return externalId;
}

describe.each([
  ['just made', true],
  ['made earlier', false],
])('a customer without a click, %s', (_when, isRecent) => {
  it('gets the click of its first lead, which later leads keep', async () => {
    const externalId = await aCustomer(isRecent);
    const { link, clickId } = await aClick();
    const answer = await lead({ clickId, customerExternalId: externalId });
    expect(answer.json()).toMatchObject({ click: { id: clickId }, link: { id: link.id } });
    const attributed = await ingest.customer(externalId);
    expect(attributed).toMatchObject({ clickId, linkId: link.id, country: 'FR' });
    expect(Date.parse(attributed.clickedAt ?? '')).toBeGreaterThan(Date.now() - 60_000);

    const other = await aClick();
    await lead({ clickId: other.clickId, eventName: 'Trial', customerExternalId: externalId });
    const third = await lead({ eventName: 'Paid', customerExternalId: externalId });
    expect(third.json()).toMatchObject({ click: { id: clickId }, link: { id: link.id } });
    expect(await ingest.customer(externalId)).toEqual(attributed);
    const rows = await leadsOf(attributed.id, 3);
    expect(rows.map((row) => [row.event_name, row.click_id]).sort()).toEqual([
      ['Paid', clickId],
      ['Sign up', clickId],
      ['Trial', other.clickId],
    ]);
  });

  it('gets it from a deferred lead, which a lead without a click then records', async () => {
    const externalId = await aCustomer(isRecent, null);
    const { link, clickId } = await aClick();
    const deferred = await lead({ clickId, mode: 'deferred', customerExternalId: externalId });
    expect(deferred.json()).toMatchObject({ click: { id: clickId }, link: { id: link.id } });
    await lead({ clickId: (await aClick()).clickId, mode: 'deferred', customerExternalId: externalId });
    const recorded = await lead({ customerExternalId: externalId });
    expect(recorded.json()).toMatchObject({ click: { id: clickId }, link: { id: link.id } });
    const { id, ...customer } = await ingest.customer(externalId);
    expect(customer).toMatchObject({ clickId, linkId: link.id });
    await leadsOf(id, 1);
  });

  it('gets one click of concurrent leads, none of which is lost or recorded twice', async () => {
    const externalId = await aCustomer(isRecent);
    const clicks = await Promise.all(Array.from({ length: CONCURRENT }, () => aClick()));
    const leads = clicks.flatMap(({ clickId }, number) => [
      { clickId, eventName: `Lead ${number}`, mode: 'wait' },
      { clickId, eventName: `Lead ${number}`, mode: 'async' },
      { clickId, eventName: 'Deferred', mode: 'deferred' },
    ]);
    const answers = await Promise.all(leads.map((body) => lead({ ...body, customerExternalId: externalId })));
    expect(answers.map(({ statusCode }) => statusCode)).toEqual(leads.map(() => 200));
    const { id, clickId, linkId } = await ingest.customer(externalId);
    expect(clicks.map((click) => [click.clickId, click.link.id])).toContainEqual([clickId, linkId]);
    const later = await lead({ eventName: 'Later', customerExternalId: externalId });
    expect(later.json()).toMatchObject({ click: { id: clickId }, link: { id: linkId } });
    const rows = await leadsOf(id, CONCURRENT + 1);
    expect(new Set(rows.map((row) => row.event_name)).size).toBe(CONCURRENT + 1);
    expect(await ingest.rows('customers FINAL', 'external_id = {name:String}', { name: externalId })).toHaveLength(1);
  });

  it('keeps the click of a lead whose process ends before it is recorded, and the repeat is recorded once', async () => {
    const externalId = await aCustomer(isRecent);
    const { link, clickId } = await aClick();
    // The process ends after the customer is attributed: nothing is recorded, and its claims are not released.
    const producer: EventProducer = {
      ...ingest.producer,
      claims: { ...ingest.producer.claims, release: () => Promise.resolve() },
      commit: () => Promise.reject(new Error('killed')),
    };
    const body = { clickId, eventName: 'Sign up', customerExternalId: externalId };
    expect((await ingest.postTo({ producers: [producer] }, '/track/lead', body)).statusCode).toBe(500);
    const { id, ...attributed } = await ingest.customer(externalId);
    expect(attributed).toMatchObject({ clickId, linkId: link.id });
    // The claims of a process that has ended expire.
    const pending = (await ingest.redisClient.keys('*claim*')).filter((key) => /customer:|lead-of:/.test(key));
    for (const key of pending) {
      if ((await ingest.redisClient.get(key))?.startsWith('p:')) await ingest.redisClient.del(key);
    }

    const other = await aClick();
    expect((await lead({ clickId: other.clickId, customerExternalId: externalId })).json().link.id).toBe(other.link.id);
    expect((await lead({ clickId, customerExternalId: externalId })).json().link).toBeNull();
    const [row] = await leadsOf(id, 1);
    expect(row?.click_id).toBe(other.clickId);
    expect(await ingest.customer(externalId)).toMatchObject({ clickId, linkId: link.id });
  });
});

it('a customer without a click needs one, and a lead whose click is unknown leaves the customer as it was', async () => {
  const externalId = await aCustomer(true);
  expect((await lead({ customerExternalId: externalId })).statusCode).toBe(400);
  expect((await lead({ clickId: 'a'.repeat(16), customerExternalId: externalId })).statusCode).toBe(404);
  expect((await ingest.customer(externalId)).clickId).toBeNull();
});

it('the first click gives its country, partner and program', async () => {
  const externalId = await aCustomer(true, null);
  const link = await ingest.link({ trackConversion: true, programId: 'prog_1', partnerId: 'pn_1' });
  const clickId = await ingest.click(link, { 'cf-ipcountry': 'US' });
  await lead({ clickId, customerExternalId: externalId });
  expect(await ingest.customer(externalId)).toMatchObject({ country: 'US', programId: 'prog_1', partnerId: 'pn_1' });
});

it('a lead of a customer who cannot be changed is recorded, and the next one gives the click; a deferred one is refused', async () => {
  const externalId = await aCustomer(true);
  const { id } = await ingest.customer(externalId);
  const customers = { ...ingest.catalog.customers, attribute: () => Promise.reject(new Error('locked')) };
  const body = { clickId: (await aClick()).clickId, customerExternalId: externalId };
  const locked = (more: object) =>
    ingest.postTo({ catalog: { ...ingest.catalog, customers } }, '/track/lead', {
      eventName: 'Early',
      ...body,
      ...more,
    });
  expect((await locked({ mode: 'deferred' })).statusCode).toBe(500);
  expect((await locked({})).statusCode).toBe(200);
  expect((await ingest.customer(externalId)).clickId).toBeNull();
  const next = await aClick();
  expect((await lead({ clickId: next.clickId, customerExternalId: externalId })).statusCode).toBe(200);
  expect((await ingest.customer(externalId)).clickId).toBe(next.clickId);
  await leadsOf(id, 2);
});

it('a lead of a customer who cannot be changed in time is recorded, and the next one gives the click', async () => {
  const externalId = await aCustomer(true);
  const { id } = await ingest.customer(externalId);
  const customers = { ...ingest.catalog.customers, attribute: () => new Promise<never>(() => undefined) };
  const body = { clickId: (await aClick()).clickId, eventName: 'Early', customerExternalId: externalId };
  const answer = await ingest.postTo({ catalog: { ...ingest.catalog, customers } }, '/track/lead', body);
  expect([answer.statusCode, (await ingest.customer(externalId)).clickId]).toEqual([200, null]);
  const next = await aClick();
  expect((await lead({ clickId: next.clickId, customerExternalId: externalId })).statusCode).toBe(200);
  expect((await ingest.customer(externalId)).clickId).toBe(next.clickId);
  await leadsOf(id, 2);
});

it('a customer who was imported with a link stays with that link', async () => {
  const externalId = await aCustomer(false);
  const { id } = await ingest.customer(externalId);
  const own = await aClick();
  const imported = {
    linkId: own.link.id,
    programId: null,
    partnerId: null,
    clickId: null,
    clickedAt: null,
    country: null,
  };
  await ingest.catalog.customers.attribute(ingest.workspaceId, id, imported);
  const other = await aClick();
  const answer = await lead({ clickId: other.clickId, customerExternalId: externalId });
  expect(answer.json()).toMatchObject({ link: { id: other.link.id } });
  expect(await ingest.customer(externalId)).toMatchObject({ clickId: null, linkId: own.link.id });
  await lead({ clickId: own.clickId, eventName: 'Trial', customerExternalId: externalId });
  expect(await ingest.customer(externalId)).toMatchObject({ clickId: own.clickId, linkId: own.link.id });
});

it('a customer who is removed at the same time does not stop the lead', async () => {
  const externalId = await aCustomer(true);
  const { id } = await ingest.customer(externalId);
  await ingest.catalog.customers.remove(ingest.workspaceId, id);
  const { clickId } = await aClick();
  expect((await lead({ clickId, customerExternalId: externalId })).statusCode).toBe(200);
});
