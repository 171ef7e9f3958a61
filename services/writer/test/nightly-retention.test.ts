import { setImmediate as immediate } from 'node:timers/promises';
import { applyWorkspaceRetention, type Catalog, type WorkspacePatch } from '@waymark/catalog';
import { formatResourceId, parseResourceId } from '@waymark/contract';
import {
  aClick,
  aLead,
  aSale,
  insertClicks,
  insertLeads,
  insertSales,
  startStores,
  type TestDatabase,
  type TestStores,
  waitFor,
} from '@waymark/test-kit';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { startNightlyRetention } from '../src/nightly-retention.js';

const DAY_MS = 86_400_000;
/** Half past two at night. */
const NOW = Math.floor(Date.now() / DAY_MS) * DAY_MS + 2.5 * 3_600_000;

let stores: TestStores;
let database: TestDatabase;
let client: Redis;
let catalog: Catalog;
const logged: object[] = [];
const logger = {
  info: (context: object) => void logged.push(context),
  warn: (context: object) => void logged.push(context),
  error: (context: object) => void logged.push(context),
};

beforeAll(async () => {
  stores = await startStores();
  ({ database, client } = stores);
  catalog = stores.catalog({ now: () => NOW });
});
beforeEach(async () => {
  logged.length = 0;
  const leases = await client.keys('waymark:retention:*');
  if (leases.length > 0) await client.del(...leases);
});
afterAll(() => stores.close());

let count = 0;
async function aWorkspace(patch: WorkspacePatch): Promise<string> {
  count += 1;
  const { workspace } = await catalog.workspaces.create({ name: 'W', slug: `w${count}`, plan: 'enterprise' });
  if (Object.keys(patch).length > 0) await catalog.workspaces.update(workspace.id, patch);
  return parseResourceId('workspace', workspace.id) ?? '';
}

/** A click, a lead and a sale of that many days ago, with an address each. */
async function storeEvents(workspaceId: string, daysAgo: readonly number[]): Promise<void> {
  const clicks = daysAgo.map((days) =>
    aClick({ workspaceId, linkId: '5', timestampMs: NOW - days * DAY_MS, ip: '198.51.100.7' }),
  );
  const conversions = clicks.map((click, index) => ({ click, timestampMs: NOW - (daysAgo[index] ?? 0) * DAY_MS }));
  await insertClicks(database.client, clicks);
  await insertLeads(database.client, conversions.map(aLead));
  await insertSales(database.client, conversions.map(aSale));
}

async function numbers(query: string, workspace: string, settings: Record<string, number> = {}): Promise<number[]> {
  const rows = await database.client.rows<(string | number)[]>({ query, parameters: { workspace }, settings });
  return (rows[0] ?? []).map(Number);
}

/** Rows, and rows with an address, of the three tables of events; sums of the roll-ups by day and by quarter of an hour, and of all time. */
async function stored(workspace: string) {
  const of = (table: string) =>
    numbers(`SELECT count(), countIf(ip != '') FROM ${table} WHERE workspace_id = {workspace:UInt64}`, workspace);
  const sumOf = (table: string) =>
    numbers(
      `SELECT sum(clicks), sum(leads), sum(sales) FROM ${table} WHERE workspace_id = {workspace:UInt64}`,
      workspace,
    );
  return {
    events: await Promise.all(['click_events', 'lead_events', 'sale_events'].map(of)),
    days: await sumOf('link_days'),
    slots: await sumOf('workspace_slots'),
    lifetime: await sumOf('link_totals'),
  };
}

const mutations = () =>
  numbers('SELECT uniqExact(table, mutation_id) FROM system.mutations WHERE database = currentDatabase()', '0');
const settled = async () =>
  (await numbers('SELECT count() FROM system.mutations WHERE database = currentDatabase() AND NOT is_done', '0'))[0] ===
  0;

test('each workspace has its own limits, with one mutation in each table for all of them; counters stay', async () => {
  const [shorter, longer, none] = await Promise.all([
    aWorkspace({ eventRetentionDays: 40, addressRetentionDays: 7 }),
    aWorkspace({ eventRetentionDays: 100 }),
    aWorkspace({}),
  ]);
  for (const workspace of [shorter, longer, none]) await storeEvents(workspace, [1, 39, 40, 41, 99, 101]);
  const [before = 0] = await mutations();
  const retention = startNightlyRetention({
    catalog,
    clickhouse: database.client,
    redis: client,
    logger,
    now: () => NOW,
  });
  await retention.run();
  await waitFor(settled, { what: 'the mutations' });
  const [after = 0] = await mutations();
  expect(after - before).toBe(5);
  // The day of the limit is kept whole.
  expect(await stored(shorter)).toEqual({
    ...{ events: [3, 3, 3].map((rows) => [rows, 1]), days: [3, 3, 3], slots: [3, 3, 3] },
    lifetime: [6, 6, 6],
  });
  expect(await stored(longer)).toMatchObject({ events: [5, 5, 5].map((rows) => [rows, rows]), days: [5, 5, 5] });
  expect(await stored(none)).toMatchObject({ events: [6, 6, 6].map((rows) => [rows, rows]), slots: [6, 6, 6] });
  // The copies in the projection by link are gone as well.
  const byLink =
    "SELECT count(), countIf(ip != '') FROM click_events WHERE workspace_id = {workspace:UInt64} AND link_id = 5";
  expect(await numbers(byLink, shorter, { optimize_use_projections: 1, force_optimize_projection: 1 })).toEqual([3, 1]);

  // A second run of the night does nothing, and a run of the next night finds nothing to do.
  await retention.run();
  await client.del('waymark:retention:night');
  await retention.run();
  expect(await mutations()).toEqual([after]);
  await retention.close();
});

test('a run skips a table that is being rewritten, and a later run deletes its rows', async () => {
  const workspace = await aWorkspace({ eventRetentionDays: 40 });
  await storeEvents(workspace, [1, 50]);
  const options = { catalog, clickhouse: database.client, redis: client, logger, now: () => NOW };
  const retention = startNightlyRetention(options);
  // A mutation that never ends.
  await database.client.command({
    query: 'ALTER TABLE lead_events DELETE WHERE throwIf(workspace_id > 0)',
    clickhouse_settings: { mutations_sync: '0' },
  });
  const failing =
    "SELECT count() FROM system.mutations WHERE database = currentDatabase() AND latest_fail_reason != ''";
  await waitFor(async () => (await numbers(failing, '0'))[0] === 1, { what: 'the failure' });
  await retention.run();
  expect(logged).toMatchObject([
    { changed: ['click_events', 'sale_events', 'workspace_slots', 'link_days'] },
    {
      waiting: [
        {
          ...{ table: 'lead_events', since: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/) },
          failure: expect.stringContaining('throwIf'),
        },
      ],
    },
  ]);
  const ofLeads = "database = currentDatabase() AND table = 'lead_events'";
  await database.client.command({ query: `KILL MUTATION WHERE ${ofLeads} AND NOT is_done` });
  await waitFor(settled, { what: 'the mutations' });
  expect((await stored(workspace)).events).toEqual([
    [1, 1],
    [2, 2],
    [1, 1],
  ]);
  await retention.run();
  await waitFor(settled, { what: 'the mutations' });
  expect((await stored(workspace)).events[1]).toEqual([1, 1]);
  await retention.close();
});

/** The client of the database, with another statement in place of the one that counts the rows of a table. */
const countingWith = (table: string, change: (query: string) => string): typeof database.client =>
  Object.assign(Object.create(database.client) as typeof database.client, {
    rows: (read: Parameters<typeof database.client.rows>[0]) =>
      database.client.rows(
        read.query.includes(`FROM ${table} WHERE`)
          ? { ...read, query: change(read.query), settings: { ...read.settings, max_execution_time: 1 } }
          : read,
      ),
  });

test('a table that takes too long to count is changed without a count', async () => {
  const workspace = await aWorkspace({ eventRetentionDays: 40, addressRetentionDays: 20 });
  await storeEvents(workspace, [1, 30, 50]);
  const slow = (query: string) => query.replace(' WHERE ', ' WHERE sleep(1.5) = 0 AND (');
  const clickhouse = countingWith('click_events', (query) => slow(query).replace(' GROUP BY', ') GROUP BY'));
  const retention = startNightlyRetention({ catalog, clickhouse, redis: client, logger, now: () => NOW });
  await retention.run();
  expect(logged).toMatchObject([
    { uncounted: [{ table: 'click_events', workspaces: expect.arrayContaining([workspace]) }] },
  ]);
  await waitFor(settled, { what: 'the mutations' });
  expect((await stored(workspace)).events).toEqual([
    [2, 1],
    [2, 1],
    [2, 1],
  ]);
  await retention.close();
});

test('a table that cannot be read does not delay the others, and is tried again in the same night', async () => {
  const workspace = await aWorkspace({ eventRetentionDays: 40 });
  await storeEvents(workspace, [1, 50]);
  let isBroken = true;
  const clickhouse = countingWith('click_events', (query) =>
    isBroken ? query.replace('click_events', 'a_table_that_is_missing') : query,
  );
  const retention = startNightlyRetention({ catalog, clickhouse, redis: client, logger, now: () => NOW });
  await retention.run();
  expect(logged).toMatchObject([
    { changed: ['lead_events', 'sale_events', 'workspace_slots', 'link_days'] },
    { tables: ['click_events'] },
  ]);
  await waitFor(settled, { what: 'the mutations' });
  const rows = async () => (await stored(workspace)).events.map(([count]) => count);
  expect(await rows()).toEqual([2, 1, 1]);
  isBroken = false;
  await retention.run();
  await waitFor(settled, { what: 'the mutations' });
  expect(await rows()).toEqual([1, 1, 1]);
  await retention.close();
});

test('two writers do not do the same work', async () => {
  const workspace = await aWorkspace({ addressRetentionDays: 1 });
  await storeEvents(workspace, [3]);
  const [before = 0] = await mutations();
  const options = { catalog, clickhouse: database.client, redis: client, logger, now: () => NOW };
  const writers = [startNightlyRetention(options), startNightlyRetention(options)];
  await Promise.all(writers.map((writer) => writer.run()));
  await waitFor(settled, { what: 'the mutations' });
  expect(await mutations()).toEqual([before + 3]);
  expect((await stored(workspace)).events).toEqual([
    [1, 0],
    [1, 0],
    [1, 0],
  ]);
  await Promise.all(writers.map((writer) => writer.close()));
});

test('a workspace that cannot be read keeps its rows, and does not stop the retention of the others', async () => {
  const [unreadable, other] = [
    await aWorkspace({ eventRetentionDays: 40 }),
    await aWorkspace({ eventRetentionDays: 40 }),
  ];
  for (const workspace of [unreadable, other]) await storeEvents(workspace, [1, 50]);
  await database.client.command({
    query: `INSERT INTO workspaces SELECT * REPLACE (version + 1 AS version, replaceOne(data, '"plan":"', '"plan":"later-') AS data)
FROM workspaces FINAL WHERE workspace_id = {unreadable:UInt64}`,
    query_params: { unreadable },
  });
  const retention = startNightlyRetention({
    catalog,
    clickhouse: database.client,
    redis: client,
    logger,
    now: () => NOW,
  });
  await retention.run();
  await waitFor(settled, { what: 'the mutations' });
  expect((await stored(other)).events.map(([rows]) => rows)).toEqual([1, 1, 1]);
  expect((await stored(unreadable)).events.map(([rows]) => rows)).toEqual([2, 2, 2]);
  await retention.close();
});

/** The client of the database, which runs `then` after it has counted the rows of the last table. */
const countingUntil = (then: () => unknown): typeof database.client =>
  Object.assign(Object.create(database.client) as typeof database.client, {
    async rows(read: Parameters<typeof database.client.rows>[0]) {
      const rows = await database.client.rows(read);
      if (read.query.includes('FROM click_aliases WHERE')) await then();
      return rows;
    },
  });

test('a retention that is ended or made longer while rows are counted deletes nothing that it keeps now', async () => {
  const [ended, longer, other] = [
    await aWorkspace({ eventRetentionDays: 40 }),
    await aWorkspace({ eventRetentionDays: 40 }),
    await aWorkspace({ eventRetentionDays: 40 }),
  ];
  for (const workspace of [ended, longer, other]) await storeEvents(workspace, [1, 50]);
  const change = (workspace: string, eventRetentionDays: number | null) =>
    catalog.workspaces.update(formatResourceId('workspace', workspace), { eventRetentionDays });
  const clickhouse = countingUntil(() => Promise.all([change(ended, null), change(longer, 60)]));
  await applyWorkspaceRetention({
    ...{ workspaces: catalog.workspaces, clickhouse, redis: client, nowMs: NOW },
  });
  await waitFor(settled, { what: 'the mutations' });
  const rowsLeft = await Promise.all([ended, longer, other].map(async (one) => (await stored(one)).events));
  expect(rowsLeft.map((events) => events.map(([rows]) => rows))).toEqual([
    [2, 2, 2],
    [2, 2, 2],
    [1, 1, 1],
  ]);
});

test('a run that is ended after it has counted starts no deletion', async () => {
  const workspace = await aWorkspace({ eventRetentionDays: 40 });
  await storeEvents(workspace, [50]);
  const before = await mutations();
  const closing = new AbortController();
  const run = applyWorkspaceRetention({
    ...{ workspaces: catalog.workspaces, clickhouse: countingUntil(() => closing.abort()), redis: client },
    ...{ nowMs: NOW, signal: closing.signal },
  });
  await expect(run).rejects.toThrow('aborted');
  expect(await mutations()).toEqual(before);
});

test('a writer that has lost its lease while it counted starts no deletion', async () => {
  const workspace = await aWorkspace({ eventRetentionDays: 40 });
  await storeEvents(workspace, [50]);
  const before = await mutations();
  const turn = 'waymark:retention:turn';
  const renewals = vi.spyOn(client, 'eval');
  onTestFinished(() => void renewals.mockRestore());
  const isLost = async () => {
    const ofTurn = renewals.mock.results.filter((_, index) => renewals.mock.calls[index]?.[2] === turn);
    return (await Promise.all(ofTurn.map(({ value }) => value))).includes(0);
  };
  const clickhouse = Object.assign(Object.create(database.client) as typeof database.client, {
    async rows(read: Parameters<typeof database.client.rows>[0]) {
      const rows = await database.client.rows(read);
      await client.set(turn, 'another writer');
      await waitFor(isLost, { what: 'a renewal of the lease to fail' });
      await immediate();
      return rows;
    },
  });
  const report = await applyWorkspaceRetention({
    ...{ workspaces: catalog.workspaces, clickhouse, redis: client, nowMs: NOW },
  });
  expect([report, await mutations()]).toEqual([undefined, before]);
});
