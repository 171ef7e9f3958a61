import { waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BROWSER, startIngest, type TestIngest } from '../test-ingest.js';

let ingest: TestIngest;
beforeAll(async () => {
  ingest = await startIngest();
  ingest.startWriter();
});
afterAll(() => ingest.stop());

let people = 0;

/** Two customers who signed up with one click, the first of whom is erased with `delete`. */
async function twoOfOneClick() {
  const { catalog, workspaceId } = ingest;
  const clickId = await ingest.click(await ingest.link({ trackConversion: true }));
  const [erased, other] = [`erased ${++people}`, `other ${people}`];
  for (const customerExternalId of [erased, other])
    await ingest.post('/track/lead', { clickId, eventName: 'Sign up', customerExternalId });
  const { id } = await ingest.customer(erased);
  await ingest.customer(other);
  const erasure = await catalog.erasures.accept(workspaceId, { externalId: erased, customerIds: [id] }, 'delete');
  // It may lack the click of a lead that is not stored yet.
  await catalog.erasures.addFound(erasure, { clickIds: [clickId] });
  await waitFor(() => catalog.erasures.people.peek()?.modeOfClickId(workspaceId, clickId), { what: 'the erasure' });
  return { clickId, other };
}

describe('after an erasure with `delete` of a customer who shares the click', () => {
  it('sales of the other customer are recorded, without the texts of the click', async () => {
    const { clickId, other } = await twoOfOneClick();
    const answer = await ingest.post('/track/sale', { customerExternalId: other, amount: 4900 });
    expect(answer.statusCode).toBe(200);
    const [row] = await ingest.rowsWhen(1, 'sale_events', 'click_id = {click:String}', { click: clickId });
    expect(row).toMatchObject({ click_id: clickId, amount: '4900' });
    expect(row?.payload).not.toContain(BROWSER);
  });

  it.each([
    ['names the click', true],
    ['names none', false],
  ])('a lead of the other customer that %s is recorded, without the texts of the click', async (_what, isNamed) => {
    const { clickId, other } = await twoOfOneClick();
    const body = { eventName: 'Trial', customerExternalId: other, ...(isNamed ? { clickId } : {}) };
    const answer = await ingest.post('/track/lead', body);
    expect(answer.json()).toMatchObject({ click: { id: clickId }, link: { key: expect.any(String) } });
    const where = "click_id = {click:String} AND event_name = 'Trial'";
    const [row] = await ingest.rowsWhen(1, 'lead_events', where, { click: clickId });
    expect(row?.payload).not.toContain(BROWSER);
  });

  it('a lead of somebody else with the click is not found', async () => {
    const { clickId } = await twoOfOneClick();
    const body = { clickId, eventName: 'Sign up', customerExternalId: `new ${people}` };
    expect((await ingest.post('/track/lead', body)).statusCode).toBe(404);
  });
});
