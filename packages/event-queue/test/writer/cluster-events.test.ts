import { randomUUID } from 'node:crypto';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  applyPlacement,
  type ClickHouseClient,
  createClickHouseClient,
  migrate,
  moveShard,
  readEveryReplica,
} from '@waymark/clickhouse';
import type { EventRow } from '@waymark/event-format';
import {
  aClick,
  type ReplicaState,
  setReplicaState,
  startTestCluster,
  type TestCluster,
  temporaryDirectory,
  waitFor,
} from '@waymark/test-kit';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { createEventTable, type EventTable } from '../../src/writer/event-table.js';
import { soleManifest } from '../alone.js';
import { startWriterFixture, type WriterFixture } from './writer-fixture.js';

/** Two shards of two replicas. Between replicas nothing is transferred: a row is only where it was inserted, as on one that is behind. */
let nodes: TestCluster;
let clients: ClickHouseClient[];
let table: EventTable;
let fixture: WriterFixture;
/** Workspaces of the first and of the second shard. */
const FIRST = '840';
const SECOND = '841';
const MIGRATIONS = join(import.meta.dirname, '../../../../clickhouse/migrations');

const client = (): ClickHouseClient => clients[0] as ClickHouseClient;
const onNode = (index: number): ClickHouseClient => clients[index] as ClickHouseClient;
const click = (workspaceId: string) => aClick({ workspaceId, timestampMs: Date.now() });
const texts = (rows: readonly EventRow[]) => rows.map((row) => JSON.stringify(row));
const idOf = (row: EventRow) => String(row[2]);

beforeAll(async () => {
  const directory = temporaryDirectory('waymark-migrations-');
  cpSync(join(MIGRATIONS, '0001_click_events.sql'), join(directory, '0001_click_events.sql'));
  cpSync(join(MIGRATIONS, '0008_workspaces.sql'), join(directory, '0002_workspaces.sql'));
  const statements = readFileSync(join(MIGRATIONS, '0038_scheduled_exports.sql'), 'utf8')
    .replaceAll(/^--.*/gm, '')
    .split(';');
  const ofClicks = statements.filter((statement) => statement.includes('ALTER TABLE click_events'));
  writeFileSync(join(directory, '0003_time_of_storage.sql'), `${ofClicks.join(';')};`);
  [nodes, fixture] = await Promise.all([startTestCluster({ shards: 2, replicas: 2 }), startWriterFixture()]);
  // The first replica of a shard answers, unless it is away.
  const settings = { load_balancing: 'in_order' } as const;
  clients = nodes.databases.map((database) => createClickHouseClient({ url: nodes.url, database, settings }));
  await migrate(client(), { cluster: nodes.cluster, directory });
  rmSync(directory, { recursive: true });
  await applyPlacement(client(), nodes);
  table = createEventTable({ client: client(), kind: 'click', cluster: nodes.cluster, now: Date.now });
});
afterAll(async () => {
  await fixture.stop();
  await Promise.all(clients.map((node) => node.close()));
  await nodes.stop();
});
beforeEach(async () => {
  for (const node of clients) await node.command({ query: 'TRUNCATE TABLE click_events_local' });
  for (const index of clients.keys()) await setState(index, {});
});

/** Sets the state of a server's replica. */
const setState = (index: number, state: ReplicaState) =>
  setReplicaState(onNode(index), 'click_events', index < 2 ? 1 : 2, state);

const counts = () =>
  Promise.all(
    clients.map(async (node) => {
      const [row] = await node.rows<[string]>({ query: 'SELECT count() FROM click_events_local' });
      return Number(row?.[0]);
    }),
  );

describe('an insert', () => {
  test('goes to the shards of its rows, one each, and a repetition is dropped by both', async () => {
    const rows = texts([click(FIRST), click(SECOND), click(FIRST)]);
    await table.insert(1, rows, 'token 1');
    expect(await counts()).toEqual([2, 0, 1, 0]);
    await table.insert(1, rows, 'token 1');
    expect(await counts()).toEqual([2, 0, 1, 0]);
    const parts =
      "SELECT count() FROM system.parts WHERE database = currentDatabase() AND table = 'click_events_local' AND active";
    for (const index of [0, 2]) expect(await onNode(index).rows({ query: parts })).toEqual([['1']]);
  });

  test('is not simply repeated when a logical shard may have moved since', async () => {
    expect(await table.hasMovedSince(Date.now() + 3_600_000)).toBe(false);
    expect(await table.hasMovedSince(Date.now() - 1000)).toBe(true);
    // The clock of the server that has stored the move may be behind.
    expect(await table.hasMovedSince(Date.now() + 60_000)).toBe(true);
  });
});

describe('whether a row is stored already', () => {
  const insertOn = (index: number, row: EventRow) =>
    onNode(index).command({
      query: `INSERT INTO click_events_local (workspace_id, timestamp, click_id) VALUES (${row[0]}, fromUnixTimestamp64Milli(${row[1]}), '${idOf(row)}')`,
    });
  const find = (row: EventRow, waitMs: number) =>
    readEveryReplica(client(), {
      ...{
        cluster: nodes.cluster,
        table: 'click_events',
        value: 'toString(click_id)',
        where: `workspace_id = ${row[0]}`,
      },
      ...{ parameters: {}, waitMs },
    });

  test('is known when only one replica has it, and the one that would answer is behind', async () => {
    const row = click(FIRST);
    await insertOn(1, row);
    await setState(0, { inserts: 1 });
    const plain = `SELECT count() FROM click_events WHERE workspace_id = ${FIRST}`;
    expect(await client().rows({ query: plain })).toEqual([['0']]);
    expect([...(await table.findPresent(texts([row, click(SECOND)])))]).toEqual([idOf(row)]);
  });

  test('is not answered while no replica of a shard is known to be complete', async () => {
    const row = click(FIRST);
    const refused = 'no replica of a shard';
    await setState(0, { inserts: 1 });
    await setState(1, { expired: 1 });
    await expect(find(row, 0)).rejects.toThrow(refused);
    await setState(1, { pointer: 7, end: 7 });
    await expect(find(row, 0)).rejects.toThrow(refused);
    await setState(0, {});
    expect([...(await find(row, 0))]).toEqual([]);
  });

  test('is not answered by a replica that is behind, if it answers first when both replicas of its shard have been away', async () => {
    await setState(2, { expired: 1 });
    await setState(3, { expired: 1 });
    const rows = client().rows.bind(client());
    let reads = 0;
    const returning = vi.spyOn(client(), 'rows').mockImplementation(async (query) => {
      const answer = await rows(query);
      if (query.query.includes('system.replicas') && ++reads === 1) await setState(3, { pointer: 5, end: 7 });
      return answer as never;
    });
    await expect(find(click(SECOND), 500)).rejects.toThrow('no replica of a shard');
    expect(reads).toBeGreaterThan(1);
    await setState(3, { pointer: 8, end: 7 });
    expect([...(await find(click(SECOND), 500))]).toEqual([]);
    returning.mockRestore();
  });

  test('is answered as soon as one is', async () => {
    await setState(2, { inserts: 3 });
    await setState(3, { pointer: 5 });
    const found = find(click(SECOND), 10_000);
    await setState(3, {});
    expect([...(await found)]).toEqual([]);
  });
});

describe('a writer on a cluster', () => {
  test('parks a row that one shard refuses, and stores the others of both shards once', async () => {
    const rows = [click(FIRST), click(SECOND), click(SECOND), click(FIRST)];
    (rows[1] as unknown[])[3] = 'no number';
    await fixture.add('click', rows);
    const writer = fixture.aWriter({ clickhouse: client(), cluster: nodes.cluster, isReplicated: true });
    await fixture.untilDrained();
    await writer.close();
    expect(await counts()).toEqual([2, 0, 1, 0]);
  });

  test('waits while a shard refuses rows of a logical shard that is moved, and stores them once when it is done', async () => {
    const alter = (change: string) => onNode(0).command({ query: `ALTER TABLE click_events_local ${change}` });
    await alter('ADD CONSTRAINT shard_is_moved CHECK NOT (workspace_id % 840 = 0)');
    const rows = [click(FIRST), click(SECOND)];
    await fixture.add('click', rows);
    const writer = fixture.aWriter({ clickhouse: client(), cluster: nodes.cluster, isReplicated: true });
    await waitFor(async () => (await counts())[2] === 1, { what: 'the other shard to store its row' });
    expect(await counts()).toEqual([0, 0, 1, 0]);
    await alter('DROP CONSTRAINT shard_is_moved');
    await fixture.untilDrained();
    await writer.close();
    expect(await counts()).toEqual([1, 0, 1, 0]);
  });

  test('repeats an insert that one shard has not stored with its token: the first one may be running there still', async () => {
    const rows = [click(FIRST), click(SECOND)];
    const jobId = await fixture.add('click', rows);
    // Within ten minutes of a move, rows are looked up before an insert is repeated.
    const at = Date.now();
    const batch = { id: randomUUID(), kind: 'click', version: 1, jobIds: [jobId], skipped: {}, at } as const;
    await soleManifest(fixture.admin).begin(batch);
    await table.insert(1, texts(rows.slice(0, 1)), batch.id);
    const writer = fixture.aWriter({ clickhouse: client(), cluster: nodes.cluster, isReplicated: true });
    await fixture.untilDrained();
    await writer.close();
    expect(await counts()).toEqual([1, 0, 1, 0]);
    await table.insert(1, texts(rows), batch.id);
    expect(await counts()).toEqual([1, 0, 1, 0]);
  });

  test('does not double the rows of a batch that a killed writer has inserted, although one of its logical shards has moved since', async () => {
    const rows = [click(FIRST), click(SECOND)];
    const jobId = await fixture.add('click', rows);
    const batch = {
      id: randomUUID(),
      kind: 'click',
      version: 1,
      jobIds: [jobId],
      skipped: {},
      at: Date.now(),
    } as const;
    await soleManifest(fixture.admin).begin(batch);
    await table.insert(1, texts(rows), batch.id);
    await moveShard(client(), { cluster: nodes.cluster, logical: 0, to: 2 });
    expect(await counts()).toEqual([0, 0, 2, 0]);
    const writer = fixture.aWriter({ clickhouse: client(), cluster: nodes.cluster, isReplicated: true });
    await fixture.untilDrained();
    await writer.close();
    expect(await counts()).toEqual([0, 0, 2, 0]);
  });
});
