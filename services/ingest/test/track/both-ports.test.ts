import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { DOMAIN, NO_FRESH_CLICKS, startIngest, type TestIngest } from '../test-ingest.js';

let ingest: TestIngest;
beforeAll(async () => {
  ingest = await startIngest({ freshClicks: NO_FRESH_CLICKS });
});
afterAll(() => ingest.stop());

it('a click that a lead on the API port has named is not read again for one on the link port', async () => {
  const { workspaceId, catalog, clickhouse, linkApp } = ingest;
  const key = { workspaceId, name: 'Page', kind: 'publishable', role: 'owner' } as const;
  const { token } = await catalog.keys.create({ ...key, scopes: [] });
  const clickId = await ingest.click(await ingest.link({ trackConversion: true }));
  await ingest.rowsWhen(1, 'click_events');
  const lead = { clickId, eventName: 'Sign up' };
  expect((await ingest.post('/track/lead', { ...lead, customerExternalId: 'of a server' })).statusCode).toBe(200);
  const rows = vi.spyOn(clickhouse, 'rows');
  try {
    const { statusCode } = await linkApp.inject({
      method: 'POST',
      url: '/track/lead/client',
      headers: { host: DOMAIN, authorization: `Bearer ${token}` },
      payload: { ...lead, customerExternalId: 'of a page' },
    });
    expect(statusCode).toBe(200);
    expect(rows.mock.calls.filter(([{ query }]) => query.includes('click_events'))).toEqual([]);
  } finally {
    rows.mockRestore();
  }
});
