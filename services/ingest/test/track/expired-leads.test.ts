import { latestLeadKey } from '@waymark/event-queue';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BROWSER, startIngest, type TestIngest } from '../test-ingest.js';

let ingest: TestIngest;
beforeAll(async () => {
  ingest = await startIngest();
  ingest.startWriter();
});
afterAll(() => ingest.stop());

let customers = 0;
const OF_CLICK = 'click_id = {click:String}';

/** Removes rows as retention does, and the state in Redis, which lasts for two hours. */
async function expire(table: string, clickId: string, customerExternalId: string): Promise<void> {
  await ingest.clickhouse.command({
    query: `ALTER TABLE ${table} DELETE WHERE click_id = {click:String}`,
    query_params: { click: clickId },
    clickhouse_settings: { mutations_sync: '1' },
  });
  const { id } = await ingest.customer(customerExternalId);
  for (const name of [undefined, 'Sign up']) await ingest.redisClient.del(latestLeadKey(ingest.workspaceId, id, name));
}

/** A customer with one sale, whose lead and click have expired. */
async function aBuyer() {
  const customerExternalId = `customer ${++customers}`;
  const clickId = await ingest.click(await ingest.link({ trackConversion: true }));
  await ingest.post('/track/lead', { clickId, eventName: 'Sign up', customerExternalId });
  const sale = (fields = {}) => ingest.post('/track/sale', { customerExternalId, amount: 4900, ...fields });
  expect((await sale()).statusCode).toBe(200);
  for (const table of ['click_events', 'lead_events', 'sale_events'])
    await ingest.rowsWhen(1, table, OF_CLICK, { click: clickId });
  for (const table of ['click_events', 'lead_events']) await expire(table, clickId, customerExternalId);
  return { clickId, sale, customerExternalId };
}

describe('a sale of a customer whose lead has expired', () => {
  it('is attributed to the link of the latest sale, without the texts of the click', async () => {
    const { clickId, sale } = await aBuyer();
    const [first] = await ingest.rows('sale_events', OF_CLICK, { click: clickId });
    expect(first?.payload).toContain(BROWSER);
    expect((await sale()).statusCode).toBe(200);
    const rows = await ingest.rowsWhen(2, 'sale_events', OF_CLICK, { click: clickId });
    const second = rows.find(({ event_id }) => event_id !== first?.event_id);
    const { link_id, click_timestamp, device } = first ?? {};
    expect(second).toMatchObject({ link_id, click_timestamp, device, sale_type: 'recurring', amount: '4900' });
    expect(second?.payload).not.toContain(BROWSER);
  });

  it('is 404 with a leadEventName, and when its sales have expired too', async () => {
    const { clickId, sale, customerExternalId } = await aBuyer();
    expect((await sale({ leadEventName: 'Sign up' })).statusCode).toBe(404);
    await expire('sale_events', clickId, customerExternalId);
    expect((await sale()).statusCode).toBe(404);
  });
});
