import {
  aClick,
  aLead,
  createTestDatabase,
  insertClicks,
  insertLeads,
  type TestDatabase,
  waitFor,
} from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { applyRetention } from '../../src/index.js';
import { expiryOf, haveEverExpired } from '../../src/retention/retention.js';

const DAY_MS = 86_400_000;

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const click = (linkId: string, daysAgo: number) =>
  aClick({ workspaceId: '1', linkId, timestampMs: Date.now() - daysAgo * DAY_MS, ip: '198.51.100.7' });

async function addresses(
  condition: string,
  settings: Record<string, number> = {},
  table = 'click_events',
): Promise<string[]> {
  const result = await database.client.query({
    query: `SELECT ip FROM ${table} WHERE workspace_id = 1 AND ${condition} ORDER BY timestamp`,
    format: 'JSONCompactEachRow',
    clickhouse_settings: settings,
  });
  return (await result.json<[string]>()).map(([ip]) => ip);
}

async function merge(...tables: readonly string[]): Promise<void> {
  for (const table of tables) {
    await database.client.command({ query: `OPTIMIZE TABLE ${table} FINAL` });
  }
}

describe('retention', () => {
  it('changes only TTLs that differ from the settings, and removes those that are no longer set', async () => {
    expect(await applyRetention(database.client, {})).toEqual([]);
    expect(await haveEverExpired(database.client)).toBe(false);
    expect(await applyRetention(database.client, { addressDays: 30, eventDays: 400 })).toHaveLength(10);
    const definitions = await database.client.rows<[string, string]>({
      query:
        "SELECT name, create_table_query FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree'",
    });
    const expiring = definitions.flatMap(([name, definition]) => {
      const expiry = expiryOf(definition);
      return expiry.rows === undefined && expiry.addresses === undefined ? [] : [[name, expiry] as const];
    });
    const days = (time: string, count: number) => `toDateTime(${time}) + toIntervalDay(${count})`;
    const events = { rows: days('timestamp', 400), addresses: days('timestamp', 30) };
    expect(Object.fromEntries(expiring)).toMatchObject({
      ...{ click_events: events, lead_events: events, sale_events: events },
      workspace_slots: { rows: days('slot', 400) },
      link_days: { rows: days('day', 400) },
      click_aliases: { rows: days('clicked_at', 400) },
    });
    expect(await applyRetention(database.client, { addressDays: 30, eventDays: 400 })).toEqual([]);
    expect(await applyRetention(database.client, { addressDays: 7, eventDays: 400 })).toHaveLength(3);
    expect(await applyRetention(database.client, {})).toHaveLength(9);
    expect(await applyRetention(database.client, {})).toEqual([]);
    // Expired events do not come back.
    expect(await haveEverExpired(database.client)).toBe(true);
  });

  it('of an earlier release, which has noted nothing, is found by its TTL and noted before that is removed', async () => {
    const own = await createTestDatabase();
    const ttl = 'MODIFY TTL toDateTime(timestamp) + INTERVAL 400 DAY';
    await own.client.command({ query: `ALTER TABLE click_events ${ttl}` });
    expect(await haveEverExpired(own.client)).toBe(true);
    expect(await applyRetention(own.client, {})).toHaveLength(2);
    expect(await haveEverExpired(own.client)).toBe(true);
    await own.drop();
  });

  it('of a hundred years deletes nothing', async () => {
    const own = await createTestDatabase();
    await insertClicks(own.client, [click('13', 40), click('13', 2)]);
    await applyRetention(own.client, { addressDays: 36_500, eventDays: 36_500 });
    await own.client.command({ query: 'OPTIMIZE TABLE click_events FINAL' });
    expect(await own.client.rows({ query: 'SELECT ip FROM click_events' })).toEqual([
      ['198.51.100.7'],
      ['198.51.100.7'],
    ]);
    await own.drop();
  });

  it('deletes expired addresses, in the table and in its projection, and keeps the other columns', async () => {
    const [old, recent] = [click('11', 40), click('11', 2)];
    await insertClicks(database.client, [old, recent]);
    await insertLeads(database.client, [aLead({ click: old, timestampMs: Date.now() - 35 * DAY_MS })]);
    await applyRetention(database.client, { addressDays: 30 });
    const isForgotten = async (settings: Record<string, number>) => {
      await merge('click_events');
      const found = await addresses('link_id = 11', settings);
      return found.length === 2 && found[0] === '' && found[1] === '198.51.100.7';
    };
    await waitFor(() => isForgotten({ optimize_use_projections: 0 }), { what: 'addresses in the table' });
    await waitFor(() => isForgotten({ optimize_use_projections: 1, force_optimize_projection: 1 }), {
      what: 'addresses in the projection',
    });
    const isForgottenOfLead = async () => {
      await merge('lead_events');
      return (await addresses('link_id = 11', {}, 'lead_events')).join() === '';
    };
    expect(await addresses('link_id = 11', {}, 'lead_events')).toHaveLength(1);
    await waitFor(isForgottenOfLead, { what: 'the address of the lead' });
  });

  it('deletes expired events with their roll-ups by time, and keeps the total counters', async () => {
    await insertClicks(database.client, [click('12', 500), click('12', 2)]);
    await applyRetention(database.client, { eventDays: 365 });
    const sum = async (query: string) => {
      const result = await database.client.query({ query, format: 'JSONCompactEachRow' });
      return Number((await result.json<[string]>())[0]?.[0]);
    };
    await waitFor(
      async () => {
        await merge('click_events', 'link_days');
        return (await addresses('link_id = 12')).length === 1;
      },
      { what: 'the event to be deleted' },
    );
    const ofLink = 'WHERE workspace_id = 1 AND link_id = 12';
    await waitFor(async () => (await sum(`SELECT sum(clicks) FROM link_days ${ofLink}`)) === 1, { what: 'its day' });
    expect(await sum(`SELECT sum(clicks) FROM link_totals ${ofLink}`)).toBe(2);
  });
});
