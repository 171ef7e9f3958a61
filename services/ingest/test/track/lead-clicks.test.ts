import { createClickHouseClient } from '@waymark/clickhouse';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { IngestDeps } from '../../src/index.js';
import { NO_FRESH_CLICKS, startIngest, type TestIngest } from '../test-ingest.js';

/** Leads that arrive in another process than their click, which may not be in ClickHouse yet. */

let ingest: TestIngest;
beforeAll(async () => {
  ingest = await startIngest();
  ingest.startWriter();
});
afterAll(() => ingest.stop());

let customers = 0;
const someone = () => {
  customers += 1;
  return `customer ${customers}`;
};
const leadElsewhere = (body: unknown, overrides: Partial<IngestDeps> = {}) =>
  ingest.postTo({ freshClicks: NO_FRESH_CLICKS, ...overrides }, '/track/lead', body);

describe('POST /track/lead in another process than the click', () => {
  /** Removes the position of a queued click from Redis, where it expires after five minutes. */
  const removePosition = (clickId: string) => ingest.redisClient.del(`{waymark}:queued-click:${clickId}`);

  it('finds a click that another process has queued', async () => {
    const link = await ingest.link({ trackConversion: true });
    await ingest.stopWriter();
    const clickId = await ingest.click(link);
    const answer = await leadElsewhere({ clickId, eventName: 'queued', customerExternalId: someone() });
    expect(answer.json()).toMatchObject({ link: { id: link.id } });
    ingest.startWriter();
    const [row] = await ingest.rowsWhen(1, 'lead_events', 'click_id = {click:String}', { click: clickId });
    expect(row?.click_id).toBe(clickId);
  });

  it('waits for a click that is not stored yet', async () => {
    const link = await ingest.link({ trackConversion: true });
    await ingest.stopWriter();
    const clickId = await ingest.click(link);
    expect(await removePosition(clickId)).toBe(1);
    const pending = leadElsewhere({ clickId, eventName: 'early', customerExternalId: someone() });
    ingest.startWriter();
    expect((await pending).statusCode).toBe(200);
  });

  it('answers Retry-After when the click is still queued, and records on retry', async () => {
    const link = await ingest.link({ trackConversion: true });
    await ingest.stopWriter();
    const clickId = await ingest.click(link);
    expect(await removePosition(clickId)).toBe(1);
    const body = { clickId, eventName: 'queued', customerExternalId: someone() };
    const early = await leadElsewhere(body);
    expect(early.statusCode).toBe(500);
    expect(early.headers['retry-after']).toBe('1');
    ingest.startWriter();
    await ingest.rowsWhen(1, 'click_events', 'click_id = {click:String}', { click: clickId });
    expect((await leadElsewhere(body)).json()).toMatchObject({ link: { id: link.id } });
  });

  it('ClickHouse unavailable: 500 with Retry-After and nothing recorded', async () => {
    const link = await ingest.link({ trackConversion: true });
    const clickId = await ingest.click(link);
    await removePosition(clickId);
    const away = createClickHouseClient({ url: 'http://127.0.0.1:9', database: 'none' });
    const body = { clickId, eventName: 'a', customerExternalId: someone() };
    const answer = await leadElsewhere(body, { clickhouse: away });
    expect(answer.statusCode).toBe(500);
    expect(answer.headers['retry-after']).toBe('1');
    expect(answer.body).not.toContain('127.0.0.1');
    await away.close();
    expect((await leadElsewhere(body)).json()).toMatchObject({ link: { id: link.id } });
  });
});
