import { createEventId, formatResourceId } from '@waymark/contract';
import { CLICK_COLUMNS } from '@waymark/event-format';
import { aClick, createTestDatabase, insertClicks, type TestDatabase } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClickFinder } from '../../src/track/conversions/click-finder.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const NUMBER = '840';
const WORKSPACE = formatResourceId('workspace', NUMBER);
const HOUR_MS = 3_600_000;

/** A finder with a clock of its own, and a stored click of an hour ago. */
async function aFoundClick() {
  const clock = { ms: Date.now() };
  const finder = createClickFinder({
    clickhouse: database.client,
    now: () => clock.ms,
    maxWaitMs: 0,
    producer: { oldestQueuedMs: async () => undefined, findQueuedClick: async () => undefined },
    freshClicks: { find: () => undefined },
    aliases: { find: async () => undefined },
    erased: { peek: () => undefined },
  });
  const timestampMs = clock.ms - HOUR_MS;
  const clickId = createEventId(timestampMs);
  await insertClicks(database.client, [aClick({ workspaceId: NUMBER, clickId, timestampMs, ip: '203.0.113.7' })]);
  const addressOf = async () => (await finder.find(WORKSPACE, clickId))[CLICK_COLUMNS.indexOf('ip')];
  const change = (statement: string) =>
    database.client.command({
      query: `ALTER TABLE click_events ${statement} WHERE click_id = {click:String}`,
      query_params: { click: clickId },
      clickhouse_settings: { mutations_sync: '1' },
    });
  expect(await addressOf()).toBe('203.0.113.7');
  return { clock, addressOf, change };
}

describe('a click that a lead has named', () => {
  it('is found without its address within an hour after retention has emptied that', async () => {
    const { clock, addressOf, change } = await aFoundClick();
    await change("UPDATE ip = ''");
    clock.ms += HOUR_MS - 1;
    expect(await addressOf()).toBe('203.0.113.7');
    clock.ms += 1;
    expect(await addressOf()).toBe('');
  });

  it('is not found any more an hour after it has expired', async () => {
    const { clock, addressOf, change } = await aFoundClick();
    await change('DELETE');
    clock.ms += HOUR_MS;
    await expect(addressOf()).rejects.toMatchObject({ code: 'not_found' });
  });

  it('is read again after the clock was set back', async () => {
    const { clock, addressOf, change } = await aFoundClick();
    await change("UPDATE ip = ''");
    clock.ms -= 1;
    expect(await addressOf()).toBe('');
  });
});
