import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startIngest, type TestIngest } from '../test-ingest.js';

let ingest: TestIngest;
beforeAll(async () => {
  ingest = await startIngest();
  ingest.startWriter();
});
afterAll(() => ingest.stop());

const lead = (body: unknown) => ingest.post('/track/lead', body);
const leadsOf = (clickId: string, count: number) =>
  ingest.rowsWhen(count, 'lead_events', 'click_id = {click:String}', { click: clickId });

describe('POST /track/lead', () => {
  it('records any metadata that is allowed, also of a click with a long address', async () => {
    const url = `https://acme.com/?q=${'%E6%96%87'.repeat(2_000)}`;
    const clickId = await ingest.click(await ingest.link({ trackConversion: true, url }));
    const list = { measurements: Array(4_980).fill(1) };
    const text = { 备注: '文'.repeat(9_900) };
    for (const [customerExternalId, metadata] of Object.entries({ anna: list, carl: text })) {
      const answer = await lead({ clickId, eventName: 'Report', customerExternalId, metadata });
      expect(answer.statusCode, answer.body).toBe(200);
    }
    const rows = await leadsOf(clickId, 2);
    const stored = rows.map(({ payload }) => JSON.parse(String(payload)).metadata);
    expect(stored).toEqual(expect.arrayContaining([list, text]));
  });

  it('records a hundred leads with 10,000 letters of metadata, and refuses more than 3 MB in one call', async () => {
    const link = await ingest.link({ trackConversion: true });
    const clickId = await ingest.click(link);
    const many = { clickId, eventName: 'Seats', customerExternalId: 'bert', eventQuantity: 100 };
    const refused = await lead({ ...many, metadata: { scores: Array(4_980).fill(1) } });
    expect(refused.statusCode).toBe(422);
    expect(refused.json()).toMatchObject({
      error: { message: expect.stringMatching(/more than 3000000 bytes: send a smaller eventQuantity/) },
    });
    await ingest.catalog.customers.create(ingest.workspaceId, { externalId: 'known' });
    const other = { ...many, clickId: await ingest.click(link), customerExternalId: 'known' };
    expect((await lead({ ...other, metadata: { scores: Array(4_980).fill(1) } })).statusCode).toBe(422);
    expect((await ingest.customer('known')).clickId).toBeNull();
    const answer = await lead({ ...many, metadata: { note: 'x'.repeat(9_980) } });
    expect(answer.statusCode, answer.body).toBe(200);
    const rows = await leadsOf(clickId, 100);
    expect(new Set(rows.map(({ event_id }) => event_id)).size).toBe(100);
    expect(new Set(rows.map(({ event_id: _, ...rest }) => JSON.stringify(rest))).size).toBe(1);
  });
});
