import { createTestDatabase, type TestDatabase } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { optionsOf } from '../../src/client.js';
import {
  applyRetention,
  type MoveOptions,
  type MoveProgress,
  type MoveReport,
  migrate,
  migrationStatus,
  moveDatabase,
} from '../../src/index.js';
import { MOVE_COMMENT } from '../../src/move/copy-slice.js';
import { openSource, openTarget } from '../../src/move/endpoints.js';
import { haveEverExpired } from '../../src/retention/retention.js';
import { contents, definitions, populate } from './populate.js';

const CLICKS = '3000';
const died = new Error('killed');

let from: TestDatabase;
/** What {@link from} contains, which stays as it is until the last tests. */
let contained: Record<string, unknown>;
const databases: TestDatabase[] = [];
/** A database that does not exist yet. */
async function aTarget(): Promise<TestDatabase> {
  const made = await createTestDatabase({ migrated: false });
  databases.push(made);
  return made;
}
beforeAll(async () => {
  from = await createTestDatabase();
  await populate(from.client);
  contained = await contents(from.client);
});
afterAll(() => Promise.all([from, ...databases].map((database) => database.drop())));

const endpointOf = ({ url, database }: TestDatabase) => ({ connection: { url, database } });

/** Moves in slices so small that tables have several. */
function move(to: TestDatabase, options: Partial<MoveOptions> = {}): Promise<MoveReport> {
  return moveDatabase({ source: endpointOf(from), target: endpointOf(to), sliceBytes: 60_000, ...options });
}

/** Throws at the given slice of a table, which ends the move there. */
function failAt(table: string, slice: number) {
  let count = 0;
  return (progress: MoveProgress) => {
    if (progress.table === table) count += 1;
    if (count === slice) throw died;
  };
}

async function one(database: TestDatabase, query: string): Promise<unknown> {
  return (await database.client.rows({ query }))[0];
}

test('a day expires at the same moment on both servers, whatever their time zones are', async () => {
  for (const open of [openSource, openTarget]) {
    const { client } = open(endpointOf(from));
    expect(optionsOf(client).settings).toMatchObject({ session_timezone: 'UTC' });
    await client.close();
  }
});

describe('after a move', () => {
  let to: TestDatabase;
  let report: MoveReport;
  const slices: string[] = [];
  beforeAll(async () => {
    to = await aTarget();
    report = await move(to, { onProgress: ({ table }) => slices.push(table) });
  });

  test('the target has the rows, totals and ids of the source, and the source is as it was', async () => {
    const after = await contents(to.client);
    expect(after).toEqual(contained);
    expect(await contents(from.client)).toEqual(contained);
    expect(slices.filter((table) => table === 'click_events').length).toBeGreaterThan(5);
    expect(report.tables.map(({ table, rows }) => [table, String(rows)])).toEqual(
      Object.entries(after).map(([table, row]) => [table, (row as string[])[0]]),
    );
  });

  test('totals are those of the source, not doubled by the views', async () => {
    expect(await one(to, 'SELECT sum(clicks) FROM link_totals')).toEqual([CLICKS]);
    expect(await one(to, 'SELECT sum(clicks) FROM workspace_slots')).toEqual([CLICKS]);
    expect(await one(to, 'SELECT sum(clicks) FROM link_days')).toEqual([CLICKS]);
    expect(await one(to, 'SELECT sum(sales) FROM customer_totals')).toEqual(['400']);
  });

  test('removed records stay removed, and of two rows of one version the later one still wins', async () => {
    expect(await one(to, 'SELECT count() FROM links WHERE deleted')).toEqual(['20']);
    expect(await one(to, 'SELECT name FROM tags FINAL')).toEqual(['second']);
  });

  test('the target has the tables and views that migrations make, so later events are counted once', async () => {
    expect(await definitions(to.client, to.database)).toEqual(await definitions(from.client, from.database));
    expect((await migrationStatus(to.client)).every(({ state }) => state === 'applied')).toBe(true);
    await to.client.command({
      query: `INSERT INTO click_events (workspace_id, timestamp, click_id, link_id) SELECT 1, now64(3), 'later', 5`,
    });
    expect(await one(to, 'SELECT sum(clicks) FROM link_totals')).toEqual([String(Number(CLICKS) + 1)]);
  });
});

describe('a move that ends in the middle', () => {
  let to: TestDatabase;
  beforeAll(async () => {
    to = await aTarget();
    await expect(move(to, { onProgress: failAt('click_events', 3) })).rejects.toBe(died);
  });

  test('leaves a database that no service can use', async () => {
    await expect(migrate(to.client)).rejects.toThrow('this database holds an unfinished move');
    expect((await migrationStatus(to.client)).every(({ state }) => state === 'pending')).toBe(true);
  });

  test('is continued when the inserts of the killed run have ended', async () => {
    const order: string[] = [];
    const query = 'SELECT sleep(2)';
    const running = to.client
      .rows({ query, settings: { log_comment: MOVE_COMMENT } })
      .then(() => order.push('insert ended'));
    const die = failAt('click_events', 1);
    const continued = move(to, {
      onProgress(progress) {
        order.push('slice');
        die(progress);
      },
    });
    await expect(continued).rejects.toBe(died);
    await running;
    expect(order.slice(0, 2)).toEqual(['insert ended', 'slice']);
  });

  test('is not continued from another source', async () => {
    const other = await createTestDatabase();
    await expect(move(to, { source: endpointOf(other) })).rejects.toThrow('unfinished move from another source');
    await other.drop();
  });

  test('continues where it ended; no row is doubled, in a table with a deduplication window or without', async () => {
    const copied: MoveProgress[] = [];
    const die = failAt('webhook_deliveries', 2);
    const dying = move(to, {
      onProgress(progress) {
        copied.push(progress);
        die(progress);
      },
    });
    await expect(dying).rejects.toBe(died);
    expect(copied.find(({ copiedBytes }) => copiedBytes > 0)?.bytes).toBeGreaterThan(copied[0]?.copiedBytes ?? 0);
    // As if each slice had been inserted, and the run been killed before it was recorded as copied.
    await to.client.command({
      query: `INSERT INTO schema_move_slices (table_name, number, partition, above, up_to, version)
        SELECT table_name, number, partition, above, up_to, 2 FROM schema_move_slices FINAL`,
    });
    await move(to);
    expect(await contents(to.client)).toEqual(contained);
    expect(await migrate(to.client)).toMatchObject({ applied: [] });
  });
});

test('a change of a record or a total between two runs is found, although the number of rows stays', async () => {
  const source = await createTestDatabase();
  const to = await aTarget();
  await populate(source.client);
  const ofSource = { source: endpointOf(source) };
  await expect(move(to, { ...ofSource, onProgress: failAt('webhook_deliveries', 1) })).rejects.toBe(died);
  for (const [table, query] of [
    ['links', "INSERT INTO links (workspace_id, id, version, domain, key) SELECT 1, 1, 9, 'go.acme.com', 'k1'"],
    // Read before the links.
    ['link_totals', 'INSERT INTO link_totals (workspace_id, link_id, clicks) SELECT 1, 1, 1'],
  ] as const) {
    await source.client.command({ query });
    await expect(move(to, ofSource)).rejects.toThrow(`slice 0 of ${table} has changed since it was copied`);
    await expect(migrate(to.client)).rejects.toThrow('unfinished move');
  }
  await source.drop();
});

describe('the source of a move', () => {
  test('is read on connections that cannot change it', async () => {
    const { client } = openSource(endpointOf(from));
    for (const query of [
      'INSERT INTO links (id) SELECT 1',
      'ALTER TABLE links DELETE WHERE 1',
      'TRUNCATE TABLE links',
      'DROP TABLE links',
      'CREATE TABLE more (n UInt8) ENGINE = Memory',
    ]) {
      await expect(client.command({ query })).rejects.toMatchObject({ cause: { code: '164' } });
    }
    await client.close();
  });

  test('keeps what its retention deletes anyway: the target gets no expired rows, and no expired addresses', async () => {
    const source = await createTestDatabase();
    const to = await aTarget();
    await applyRetention(source.client, { addressDays: 30, eventDays: 90 });
    const click = (id: string, age: number) => `SELECT 9, now64(3) - toIntervalDay(${age}), '${id}', '203.0.113.9'`;
    const clicks = [click('new', 1), click('older', 29.5), click('expiring', 89.5)];
    await source.client.command({
      query: `INSERT INTO click_events (workspace_id, timestamp, click_id, ip) ${clicks.join(' UNION ALL ')}`,
    });
    await move(to, { source: endpointOf(source) });
    const query = "SELECT trim(TRAILING '\\0' FROM toString(click_id)), ip FROM click_events ORDER BY timestamp DESC";
    expect(await to.client.rows({ query })).toEqual([
      ['new', '203.0.113.9'],
      ['older', ''],
    ]);
    // The totals of links still count the expired events.
    expect(await haveEverExpired(to.client)).toBe(true);
    await source.drop();
  });

  test('must not be written to: the difference is found, and the target does not become usable', async () => {
    const to = await aTarget();
    const query = "INSERT INTO click_events (workspace_id, timestamp, click_id) SELECT 0, '2025-12-01', 'x'";
    let written: Promise<unknown> | undefined;
    const writing = move(to, {
      onProgress({ table }) {
        if (table === 'click_events') written ??= from.client.command({ query });
      },
    });
    await expect(writing).rejects.toThrow('something has written meanwhile');
    await written;
    await expect(migrate(to.client)).rejects.toThrow('unfinished move');
  });
});

describe('a move is refused, and changes nothing,', () => {
  test('into a database that has tables, or onto itself', async () => {
    const to = await createTestDatabase();
    const before = await definitions(to.client, to.database);
    const message = 'already has tables (api_keys, …) that do not come from an unfinished move: ';
    // Of a run that was killed after it had dropped the tables of the move, nothing else is left.
    await expect(move(to)).rejects.toThrow(`${message}if an earlier run of this move has filled it and was killed`);
    expect(await definitions(to.client, to.database)).toEqual(before);
    await expect(move(from)).rejects.toThrow('the target is the source');
    const query = 'ALTER TABLE schema_migrations DELETE WHERE number = 1 SETTINGS mutations_sync = 1';
    await to.client.command({ query });
    await expect(move(to)).rejects.toThrow(`${message}name another database, or drop it`);
    await to.drop();
  });

  test('from a database at another level of migrations', async () => {
    const source = await createTestDatabase();
    const to = await aTarget();
    const newest = 'number = (SELECT max(number) FROM schema_migrations)';
    await source.client.command({
      query: `ALTER TABLE schema_migrations DELETE WHERE ${newest} SETTINGS mutations_sync = 1`,
    });
    await expect(move(to, { source: endpointOf(source) })).rejects.toThrow(/another level.*is pending.*migrate up/);
    await migrate(source.client);
    await source.client.command({
      query: "INSERT INTO schema_migrations SELECT 9999, '9999_later.sql', '', now64(3)",
    });
    await expect(move(to, { source: endpointOf(source) })).rejects.toThrow(
      /9999_later.sql is unknown.*the release that/,
    );
    await expect(to.client.rows({ query: 'SELECT 1' })).rejects.toMatchObject({ code: '81' });
    await source.drop();
  });
});
