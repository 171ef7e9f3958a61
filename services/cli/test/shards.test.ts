import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import {
  applyPlacement,
  type ClickHouseClient,
  createClickHouseClient,
  isPlacementApplied,
  migrate,
} from '@waymark/clickhouse';
import { environmentWith } from '@waymark/config';
import { dropOtherTables, startTestCluster, type TestCluster, temporaryDirectory, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rangesText, readRanges } from '../src/commands/shards.js';
import { BIN, runCli, runCommand } from './run-cli.js';

/** Of logical shard 3, which begins on shard 2. */
const MOVED = 3;
const OLD_EVENTS = 6_000;
const WRITE_EVERY_MS = 75;
const READ_EVERY_MS = 25;
/** How many tables refuse rows of a logical shard. */
const FENCED = `SELECT count() FROM system.tables WHERE database = currentDatabase() AND create_table_query LIKE '%shard_is_moved%'`;

let nodes: TestCluster;
let client: ClickHouseClient;
let dataDir: string;
let env: Record<string, string>;
/** Whether the tables followed the placement when the migrations were applied, and nothing more. */
let isPlacedBefore: boolean;

beforeAll(async () => {
  nodes = await startTestCluster({ shards: 2 });
  const [database = ''] = nodes.databases;
  client = createClickHouseClient({ url: nodes.url, database });
  await migrate(client, nodes);
  isPlacedBefore = await isPlacementApplied(client, nodes);
  await applyPlacement(client, nodes);
  await client.command({
    query: `INSERT INTO click_events (workspace_id, timestamp, click_id, link_id)
      SELECT number % 6, toDateTime64('2026-01-01 00:00:00', 3, 'UTC') + number * 900, leftPad(toString(number), 16, '0'), number % 7
      FROM numbers(${OLD_EVENTS})`,
  });
  await client.command({
    query: `INSERT INTO links (workspace_id, id, version, deleted, domain, key)
      SELECT number % 6, number, 1, 0, 'go.acme.com', toString(number) FROM numbers(600)`,
  });
  dataDir = temporaryDirectory('waymark-shards-');
  env = {
    DATA_DIR: dataDir,
    CLICKHOUSE_URL: nodes.url,
    CLICKHOUSE_DATABASE: database,
    CLICKHOUSE_CLUSTER: nodes.cluster,
  };
});
afterAll(async () => {
  await client.close();
  await nodes.stop();
  rmSync(dataDir, { recursive: true });
});

const number = async (query: string, database?: string): Promise<number> => {
  const of = database === undefined ? client : createClickHouseClient({ url: nodes.url, database });
  const [row] = await of.rows<[string]>({ query, settings: { force_optimize_skip_unused_shards: 0 } });
  if (of !== client) await of.close();
  return Number(row?.[0]);
};

test('migrate wait waits for the placement on shards, which follows the migrations', async () => {
  expect(isPlacedBefore).toBe(false);
  expect(await isPlacementApplied(client, nodes)).toBe(true);
  const wait = () => runCommand(env, 'migrate', 'wait', '--seconds', '0.1');
  expect(await wait()).toMatchObject({ code: 0 });
  const placed = 'SELECT create_table_query FROM system.tables WHERE database = currentDatabase() AND name = ';
  const [[statement = ''] = []] = await client.rows<[string]>({ query: `${placed}'tags'` });
  const on = `Distributed('${nodes.cluster}', currentDatabase(), tags_local, workspace_id)`;
  await client.command({ query: `CREATE OR REPLACE TABLE tags AS tags ENGINE = ${on}` });
  const other = await wait();
  await client.command({ query: statement.replace('CREATE TABLE', 'CREATE OR REPLACE TABLE') });
  expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining('do not follow the placement') });
  expect(await wait()).toMatchObject({ code: 0 });
});

test('pods start during a move that was interrupted, while tables follow the one or the other of its shards', async () => {
  const store = (shard: number, other: number, step: string) =>
    client.command({
      query: `INSERT INTO schema_shards SELECT {moved:UInt16}, {shard:UInt16}, {other:UInt16}, {step:String}, now64(3), max(version) + 1
        FROM schema_shards`,
      query_params: { moved: MOVED, shard, other, step },
    });
  const isPlaced = [];
  for (const [shard, other, step] of [
    [2, 1, 'copying'],
    [1, 2, 'switching'],
    [1, 0, ''],
    [2, 0, ''],
  ] as const) {
    await store(shard, other, step);
    isPlaced.push(await isPlacementApplied(client, nodes));
  }
  expect(isPlaced).toEqual([true, true, false, true]);
});

/** Inserts clicks of the moved workspace, one at a time, and repeats what is refused, as a writer does. */
function startWriting() {
  let [stored, refused, isStopped] = [0, 0, false];
  const insert = async (id: number) => {
    try {
      await client.command({
        query: `INSERT INTO click_events (workspace_id, timestamp, click_id, link_id) VALUES (${MOVED}, now64(3), 'new ${id}', 1)`,
      });
      stored += 1;
      return true;
    } catch (err) {
      expect(err).toMatchObject({ code: '469' });
      refused += 1;
      return false;
    }
  };
  const done = (async () => {
    for (let id = 0; !isStopped; ) {
      if (await insert(id)) id += 1;
      await delay(WRITE_EVERY_MS);
    }
  })();
  // Its failure is that of `stop`; a test that fails before does not come to that.
  done.catch(() => undefined);
  return {
    stored: () => stored,
    refused: () => refused,
    async stop() {
      isStopped = true;
      await done;
    },
  };
}

/** Reads the moved workspace all the time: no read may miss an event that was stored before it, or count one twice. */
function startReading(stored: () => number) {
  let [reads, isStopped] = [0, false];
  const count = (table: string) => number(`SELECT ${table} WHERE workspace_id = ${MOVED}`);
  const old = OLD_EVENTS / 6;
  const done = (async () => {
    while (!isStopped) {
      const before = stored();
      const [events, total] = [await count('count() FROM click_events'), await count('sum(clicks) FROM link_totals')];
      const after = stored() + 1;
      for (const found of [events, total]) {
        expect(found).toBeGreaterThanOrEqual(old + before);
        expect(found).toBeLessThanOrEqual(old + after);
      }
      reads += 1;
      await delay(READ_EVERY_MS);
    }
  })();
  done.catch(() => undefined);
  return {
    reads: () => reads,
    async stop() {
      isStopped = true;
      await done;
    },
  };
}

/** Of names of other workspaces, one is placed on the moved logical shard, one is not. */
async function expectOnlyItsRowsRefused(): Promise<void> {
  const hashed = (operator: string) =>
    `SELECT toString(number) FROM numbers(10000) WHERE cityHash64('link', 'go.acme.com', toString(number)) % 840 ${operator} ${MOVED} LIMIT 1`;
  const insertName = async (operator: string) => {
    const [[name] = []] = await client.rows<[string]>({ query: hashed(operator) });
    await client.command({
      query: `INSERT INTO names (kind, scope, name, id, workspace_id, version, deleted) VALUES ('link', 'go.acme.com', '${name}', 1, 5, 1, 0)`,
    });
  };
  const insertCustomer = (workspace: number) =>
    client.command({
      query: `INSERT INTO customers (workspace_id, id, version, deleted) VALUES (${workspace}, 1, 1, 0)`,
    });
  await expect(insertCustomer(MOVED)).rejects.toMatchObject({ code: '469' });
  await expect(insertName('=')).rejects.toMatchObject({ code: '469' });
  await insertCustomer(5);
  await insertName('!=');
}

describe('a logical shard is moved', () => {
  test('while its events are written and read, and the command is killed: no event is missing, doubled or unread', async () => {
    const others = await number('SELECT count() FROM click_events WHERE workspace_id = 5');
    const writing = startWriting();
    const reading = startReading(writing.stored);
    const args = ['shards', 'move', String(MOVED), '--to', '1'];
    const [to, from] = nodes.databases;
    const moments: readonly [what: string, hasCome: () => Promise<boolean>][] = [
      [
        'rows are copied',
        async () => (await number(`SELECT count() FROM click_events_local WHERE workspace_id = ${MOVED}`, to)) > 0,
      ],
      ['the old shard refuses rows', async () => (await number(FENCED, from)) > 0],
      [
        'all is copied',
        async () => (await number("SELECT count() FROM schema_shards FINAL WHERE step = 'switching'")) > 0,
      ],
    ];
    for (const [what, hasCome] of moments) {
      const child = spawn(process.execPath, [BIN, ...args], { env: environmentWith(env), stdio: 'ignore' });
      const ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve(signal ?? code)));
      await waitFor(hasCome, { what });
      child.kill('SIGKILL');
      expect([what, await ended]).toEqual([what, 'SIGKILL']);
      // The next run would wait until the lease of the killed one has expired.
      await client.command({ query: 'TRUNCATE TABLE schema_migration_leases' });
      if (what === 'all is copied') await expectOnlyItsRowsRefused();
    }
    const finished = await runCommand(env, ...args);
    expect(finished).toMatchObject({ code: 0 });
    await Promise.all([writing.stop(), reading.stop()]);

    const wanted = OLD_EVENTS / 6 + writing.stored();
    const ofMoved = `WHERE workspace_id = ${MOVED}`;
    expect(await number(`SELECT count() FROM click_events ${ofMoved}`)).toBe(wanted);
    expect(await number(`SELECT uniqExact(click_id) FROM click_events ${ofMoved}`)).toBe(wanted);
    expect(await number(`SELECT sum(clicks) FROM link_totals ${ofMoved}`)).toBe(wanted);
    expect(await number(`SELECT sum(clicks) FROM workspace_slots ${ofMoved}`)).toBe(wanted);
    expect(await number(`SELECT count() FROM links FINAL ${ofMoved}`)).toBe(100);
    expect(await number(`SELECT count() FROM click_events_local ${ofMoved}`, to)).toBe(wanted);
    for (const table of ['click_events', 'links', 'link_totals', 'workspace_slots'])
      expect(await number(`SELECT count() FROM ${table}_local ${ofMoved}`, from)).toBe(0);
    expect(await number('SELECT count() FROM click_events WHERE workspace_id = 5')).toBe(others);
    for (const database of nodes.databases) expect(await number(FENCED, database)).toBe(0);
    expect(finished.stderr).toContain('removing moved rows from the files of click_events_local on shard 2');
    expect(
      await number(
        "SELECT count() FROM system.parts WHERE database LIKE 'waymark%' AND active AND has_lightweight_delete",
      ),
    ).toBe(0);
    expect(reading.reads()).toBeGreaterThan(10);
    expect(writing.refused()).toBeGreaterThan(0);
  }, 120_000);

  test('and listed where it is', async () => {
    const { stdout } = await runCommand(env, 'shards', 'list');
    expect(stdout).toMatch(/^1 +127\.0\.0\.1:\d+ +421 +0 2-4 6/m);
    expect(stdout).toMatch(/^2 +127\.0\.0\.1:\d+ +419 +1 5 7/m);
  });
});

test('the same command removes a fence that was added when the move had ended, by a command that had stood still', async () => {
  const [to] = nodes.databases;
  const onNode = createClickHouseClient({ url: nodes.url, database: to ?? '' });
  const check = `CHECK NOT (workspace_id % 840 = ${MOVED})`;
  await onNode.command({ query: `ALTER TABLE links_local ADD CONSTRAINT shard_is_moved ${check}` });
  await onNode.close();
  expect(await runCommand(env, 'shards', 'move', String(MOVED), '--to', '1')).toMatchObject({
    code: 0,
    stderr: `on shard 1 already: ${MOVED}\n`,
  });
  expect(await number(FENCED, to)).toBe(0);
});

describe('logical shards are moved', () => {
  // Every table was moved above.
  beforeAll(async () => {
    expect(await dropOtherTables(client, nodes.cluster)).toBeGreaterThan(8);
  });

  test('several are moved by one command, which goes on where it was killed when it is repeated', async () => {
    const args = ['shards', 'move', '1', '5', '7', '--to', '1', '--json'];
    const child = spawn(process.execPath, [BIN, ...args], { env: environmentWith(env), stdio: 'ignore' });
    const ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve(signal ?? code)));
    await waitFor(
      async () => (await number('SELECT count() FROM schema_shards FINAL WHERE logical = 5 AND other > 0')) > 0,
      {
        what: 'the move of the second',
      },
    );
    child.kill('SIGKILL');
    expect(await ended).toBe('SIGKILL');
    await client.command({ query: 'TRUNCATE TABLE schema_migration_leases' });

    const elsewhere = await runCommand(env, 'shards', 'move', '9', '--to', '1');
    expect(elsewhere).toMatchObject({ code: 1, stderr: expect.stringContaining('shards move 5 --to 1` continues it') });
    const repeated = await runCommand(env, ...args);
    expect(repeated).toMatchObject({ code: 0, stderr: expect.stringContaining('on shard 1 already: 1') });
    expect(JSON.parse(repeated.stdout)).toMatchObject({ moves: [{ logical: 5 }, { logical: 7 }], there: [1] });
    const finished = await runCommand(env, ...args);
    expect([finished.code, JSON.parse(finished.stdout)]).toEqual([0, { moves: [], there: [1, 5, 7] }]);
    expect(await number('SELECT count() FROM click_events WHERE workspace_id IN (1, 5)')).toBe(OLD_EVENTS / 3);
    for (const database of nodes.databases) expect(await number(FENCED, database)).toBe(0);
  }, 120_000);

  test('a command that is repeated while the first one still runs leaves out what that one moves', async () => {
    const holdLease = (owner: string) =>
      client.command({
        query: `INSERT INTO schema_migration_leases SELECT '${owner}', now64(3) + INTERVAL 1 MINUTE, 1`,
      });
    await client.command({ query: 'TRUNCATE TABLE schema_migration_leases' });
    await holdLease('the first command');
    const repeated = runCli(env, 'shards', 'move', '11', '13', '--to', '1', '--json');
    await waitFor(async () => (await number('SELECT uniqExact(owner) FROM schema_migration_leases')) > 1, {
      what: 'the second command to wait',
    });
    // The first one ends the move of 11, which has no rows.
    await client.command({
      query: `INSERT INTO schema_shards SELECT 11, 1, 0, '', now64(3), max(version) + 1 FROM schema_shards`,
    });
    await client.command({ query: 'TRUNCATE TABLE schema_migration_leases' });
    const { code, stdout, stderr } = await repeated;
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('on shard 1 already: 11') });
    expect(JSON.parse(stdout)).toMatchObject({ moves: [{ logical: 13 }], there: [11] });
  }, 120_000);
});

test.each([
  [['3', '--to', '9'], 'has no shard 9'],
  [['840', '--to', '1'], '840: logical shards are numbers from 0 to 839'],
  [['3'], '--to must be the number of a shard'],
  [['--to', '1'], 'name logical shards'],
])('a move of %j is refused, and the reason is named', async (args, reason) => {
  const { code, stderr } = await runCommand(env, 'shards', 'move', ...args);
  expect([code, stderr]).toEqual([1, expect.stringContaining(reason)]);
});

test('numbers are written as ranges and read as such', () => {
  expect(rangesText([0, 1, 2, 5, 7, 8])).toBe('0-2 5 7-8');
  expect(readRanges(['0-2', '5', '7-8', '8'])).toEqual([0, 1, 2, 5, 7, 8]);
});

test('shards add through a new server takes the tables of the others, and fails if no server has any', async () => {
  const [old = '', added = ''] = nodes.databases;
  const recreate = async (database: string) => {
    const server = createClickHouseClient({ url: nodes.url, database: 'default' });
    await server.command({ query: `DROP DATABASE ${database}` });
    await server.command({ query: `CREATE DATABASE ${database}` });
    await server.close();
  };
  const tables = (database: string) =>
    number("SELECT count() FROM system.tables WHERE database = currentDatabase() AND engine = 'Distributed'", database);
  const wanted = await tables(old);
  await recreate(added);
  // As an earlier command that was killed, or a start of another release, has left it.
  for (const table of ['schema_shards', 'schema_migrations', 'schema_migration_leases'])
    await client.command({ query: `CREATE TABLE ${added}.${table} AS ${old}.${table}` });
  const add = () => runCommand({ ...env, CLICKHOUSE_DATABASE: added }, 'shards', 'add');
  expect(await add()).toMatchObject({ code: 0, stdout: expect.stringMatching(/^created the tables on shard 2, /) });
  expect(await tables(added)).toBe(wanted);
  for (const database of nodes.databases) await recreate(database);
  expect(await add()).toMatchObject({ code: 1, stderr: expect.stringContaining('has the tables: run `npx waymark') });
}, 120_000);
