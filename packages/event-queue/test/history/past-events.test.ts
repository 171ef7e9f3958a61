import type { ClickHouseClient } from '@waymark/clickhouse';
import { derivedEventId, formatResourceId } from '@waymark/contract';
import {
  aClick,
  aLead,
  aSale,
  createTestDatabase,
  startRedis,
  type TestDatabase,
  type TestRedis,
} from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import {
  HistoryBusyError,
  openPastEvents,
  type PastBatch,
  type PastEventsOptions,
  type PastRow,
} from '../../src/index.js';
import { claimKey, historyKey } from '../../src/queue/keys.js';
import { silentLogger } from '../silent-logger.js';

const LEASE_MS = 250;
let redis: TestRedis;
let admin: Redis;
let database: TestDatabase;
let workspaces = 100;

beforeAll(async () => {
  [redis, database] = await Promise.all([startRedis(), createTestDatabase()]);
  admin = new Redis(redis.url);
});
afterAll(async () => {
  admin.disconnect();
  await Promise.all([redis.stop(), database.drop()]);
});

function idOf(timestampMs: number, number: number): string {
  const bytes = Buffer.alloc(7);
  bytes.writeUInt32BE(number, 3);
  return derivedEventId(timestampMs, bytes);
}

/** Ten clicks of three years, with a lead and a sale of each. */
function history(workspaceId: string): PastRow[] {
  return Array.from({ length: 10 }, (_, n) => {
    const timestampMs = Date.UTC(2019 + (n % 3), n, 3, 4, 5, 6, n);
    const click = aClick({ workspaceId, timestampMs, clickId: idOf(timestampMs, n) });
    const [leadMs, saleMs] = [timestampMs + 1000, timestampMs + 2000];
    return [
      { kind: 'click', row: click },
      { kind: 'lead', row: aLead({ click, timestampMs: leadMs, eventId: idOf(leadMs, n) }) },
      { kind: 'sale', row: aSale({ click, timestampMs: saleMs, eventId: idOf(saleMs, n), amount: 500 }) },
    ] satisfies PastRow[];
  }).flat();
}

function batchOf(workspaceId: string): PastBatch {
  const rows = history(workspaceId);
  const clicks = rows.filter(({ kind }) => kind === 'click');
  const aliases = clicks.map(({ row }) => ({
    alias: `old-${row[2]}`,
    clickId: String(row[2]),
    clickedAtMs: Number(row[1]),
  }));
  return {
    rows,
    aliases,
    claims: [],
    progressAfter: (dropped) => (dropped === 0 ? 'all of it' : `without ${dropped}`),
  };
}

const optionsFor = (workspaceNumber: string, more: Partial<PastEventsOptions> = {}): PastEventsOptions => ({
  ...{ queues: [admin], shard: admin, clickhouse: database.client },
  ...{ workspaceNumber, identity: 'a', leaseMs: LEASE_MS },
  ...{
    onInserting: async () => undefined,
    onInserted: async () => undefined,
    onRefused: async () => undefined,
    logger: silentLogger,
    now: Date.now,
  },
  ...more,
});

/** What a workspace has: rows and ids of each table, and what was counted of them. */
async function stateOf(workspace: string) {
  const [row] = await database.client.rows<(string | null)[]>({
    query: `SELECT
      (SELECT concat(toString(count()), '/', toString(uniqExact(click_id))) FROM click_events WHERE workspace_id = {w:UInt64}),
      (SELECT concat(toString(count()), '/', toString(uniqExact(event_id))) FROM lead_events WHERE workspace_id = {w:UInt64}),
      (SELECT concat(toString(count()), '/', toString(uniqExact(event_id))) FROM sale_events WHERE workspace_id = {w:UInt64}),
      (SELECT concat(toString(sum(clicks)), '/', toString(sum(leads)), '/', toString(sum(sale_amount))) FROM link_totals WHERE workspace_id = {w:UInt64}),
      (SELECT concat(toString(sum(clicks)), '/', toString(sum(leads)), '/', toString(sum(sales))) FROM workspace_slots WHERE workspace_id = {w:UInt64}),
      (SELECT toString(sum(events)) FROM imported_counts FINAL WHERE workspace_id = {w:UInt64}),
      (SELECT toString(count()) FROM click_aliases FINAL WHERE workspace_id = {w:UInt64})`,
    parameters: { w: workspace },
  });
  return row;
}
const COMPLETE = ['10/10', '10/10', '10/10', '10/10/5000', '10/10/10', '30', '10'];

/** A client whose process dies at its nth insert: before it, or when the rows are stored, before the answer is read. */
function dying(at: number, isAfter: boolean, die: () => void): ClickHouseClient {
  let inserts = 0;
  const wrapped = async (run: () => Promise<unknown>) => {
    const isLast = ++inserts === at;
    if (isLast && !isAfter) die();
    if (inserts >= at && !isAfter) throw new Error('killed');
    const result = await run();
    if (isLast) die();
    if (inserts >= at) throw new Error('killed');
    return result;
  };
  return new Proxy(database.client, {
    get(target, name) {
      const value = target[name as keyof ClickHouseClient] as unknown;
      if (typeof value !== 'function') return value;
      const call = (...args: unknown[]) => (value as (...all: unknown[]) => Promise<unknown>).apply(target, args);
      return name === 'insert' || name === 'exec' ? (...args: unknown[]) => wrapped(() => call(...args)) : call;
    },
  });
}

describe('events of the past', () => {
  it('block the filters of their workspace before they are stored', async () => {
    const workspace = String(workspaces++);
    const mark = claimKey(`filters:${formatResourceId('workspace', workspace)}`);
    const unblock = () => admin.set(mark, 'f:a mark');
    await unblock();
    const past = await openPastEvents(optionsFor(workspace, { leaseMs: 600_000 }));
    expect(await admin.get(mark)).toBe('f:blocked');
    await unblock();
    await past.write(batchOf(workspace));
    expect(await admin.get(mark)).toBe('f:blocked');
    await past.finish();
  });

  it('onInserting and onInserted get the same batch id, in this order', async () => {
    const workspace = String(workspaces++);
    const calls = { before: [] as string[], after: [] as string[] };
    const past = await openPastEvents(
      optionsFor(workspace, {
        onInserting: async ({ batchId }) => void calls.before.push(batchId),
        async onInserted({ batchId }) {
          expect(calls.before).toContain(batchId);
          calls.after.push(batchId);
        },
      }),
    );
    await past.write(batchOf(workspace));
    await past.finish();
    expect(calls.after.length).toBeGreaterThan(0);
    expect(calls.before).toEqual(calls.after);
  });

  it('are stored once, with their roll-ups, wherever the import is killed and run again', async () => {
    // Two inserts of notes, and one for each kind and year.
    const kills = [
      [1, false],
      [2, true],
      [3, false],
      [3, true],
      [7, true],
      [11, true],
    ] as const;
    for (const [at, isAfter] of kills) {
      const workspace = String(workspaces++);
      const dead = new AbortController();
      const clickhouse = dying(at, isAfter, () => dead.abort());
      const first = await openPastEvents(optionsFor(workspace, { clickhouse, signal: dead.signal }));
      await expect(first.write(batchOf(workspace)), `insert ${at}`).rejects.toThrow();
      const again = await openPastEvents(optionsFor(workspace));
      // What was begun is complete, without reading the source again.
      expect(await stateOf(workspace), `killed at insert ${at}, after it: ${isAfter}`).toEqual(COMPLETE);
      expect(again.progress).toBe('all of it');
      expect(await again.absent(history(workspace))).toEqual([]);
      await again.finish();
    }
  });

  it('of an import that was killed are completed by another import, which then begins at its start', async () => {
    const workspace = String(workspaces++);
    const dead = new AbortController();
    const clickhouse = dying(4, true, () => dead.abort());
    const first = await openPastEvents(optionsFor(workspace, { clickhouse, signal: dead.signal }));
    await expect(first.write(batchOf(workspace))).rejects.toThrow();
    const other = await openPastEvents(optionsFor(workspace, { identity: 'b' }));
    expect([await stateOf(workspace), other.progress]).toEqual([COMPLETE, undefined]);
    await other.close();
    const same = await openPastEvents(optionsFor(workspace, { identity: 'b' }));
    await same.finish();
    expect(await admin.keys('*history*')).toEqual([]);
  });

  it('are imported by one process at a time, and one that was replaced stores nothing more', async () => {
    const workspace = String(workspaces++);
    const stopped = new AbortController();
    // Both are in this process, which may be too busy to renew a shorter lease.
    const leaseMs = 2_000;
    const first = await openPastEvents(optionsFor(workspace, { leaseMs, signal: stopped.signal }));
    onTestFinished(() => first.close());
    await expect(openPastEvents(optionsFor(workspace, { leaseMs }))).rejects.toBeInstanceOf(HistoryBusyError);
    // It does not renew its lease any more, as a process that hangs.
    stopped.abort();
    const second = await openPastEvents(optionsFor(workspace, { leaseMs }));
    await expect(first.write(batchOf(workspace))).rejects.toBeInstanceOf(HistoryBusyError);
    expect((await stateOf(workspace))?.[0]).toBe('0/0');
    await second.write(batchOf(workspace));
    expect(await stateOf(workspace)).toEqual(COMPLETE);
    await second.finish();
  });

  it('are imported although a killed process seems to have the lease for another hour, because the clock of Redis was set back', async () => {
    const workspace = String(workspaces++);
    await admin.hset(historyKey(workspace), { owner: 'a killed process', until: Date.now() + 3_600_000 });
    const past = await openPastEvents(optionsFor(workspace));
    await past.write(batchOf(workspace));
    await past.finish();
    expect(await stateOf(workspace)).toEqual(COMPLETE);
  });

  it('are not inserted by a process that was suspended right before, while another one took over', async () => {
    const workspace = String(workspaces++);
    const onInserting = async () => void (await admin.hset(historyKey(workspace), 'owner', 'another process'));
    const first = await openPastEvents(optionsFor(workspace, { onInserting, leaseMs: 60_000 }));
    onTestFinished(() => first.close());
    await expect(first.write(batchOf(workspace))).rejects.toBeInstanceOf(HistoryBusyError);
    expect((await stateOf(workspace))?.slice(0, 3)).toEqual(['0/0', '0/0', '0/0']);
    await admin.hdel(historyKey(workspace), 'owner');
    const second = await openPastEvents(optionsFor(workspace));
    await second.finish();
    expect(await stateOf(workspace)).toEqual(COMPLETE);
  });

  /** Writes a batch with a process that dies while its rows are stored, of which ClickHouse then drops the tokens. */
  async function leaveWithoutTokens(workspace: string, queues: readonly Redis[]): Promise<void> {
    const dead = new AbortController();
    const clickhouse = dying(11, true, () => dead.abort());
    const first = await openPastEvents(optionsFor(workspace, { queues, clickhouse, signal: dead.signal }));
    await expect(first.write(batchOf(workspace))).rejects.toThrow();
    await database.client.command({
      query: 'ALTER TABLE click_events MODIFY SETTING non_replicated_deduplication_window = 0',
    });
    onTestFinished(async () => {
      await database.client.command({
        query: 'ALTER TABLE click_events RESET SETTING non_replicated_deduplication_window',
      });
    });
  }

  it('are compared row by row once their token may be gone', async () => {
    const workspace = String(workspaces++);
    await leaveWithoutTokens(workspace, [admin]);
    await admin.incrby('{waymark}:inserts', 5_000);
    await (await openPastEvents(optionsFor(workspace))).finish();
    expect((await stateOf(workspace))?.slice(0, 3)).toEqual(['10/10', '10/10', '10/10']);
  });

  it('are compared row by row after another queue shard has lost its count of inserts', async () => {
    const workspace = String(workspaces++);
    const server = await startRedis();
    const other = new Redis(server.url);
    onTestFinished(async () => {
      other.disconnect();
      await server.stop();
    });
    await other.set('{waymark}:inserts', 5_000);
    await leaveWithoutTokens(workspace, [admin, other]);
    await other.del('{waymark}:inserts');
    await (await openPastEvents(optionsFor(workspace, { queues: [admin, other] }))).finish();
    expect((await stateOf(workspace))?.slice(0, 3)).toEqual(['10/10', '10/10', '10/10']);
  });

  it('that ClickHouse refuses are given back one by one, and the others are stored', async () => {
    const workspace = String(workspaces++);
    const refused: string[] = [];
    const past = await openPastEvents(
      optionsFor(workspace, { onRefused: async ({ kind }) => void refused.push(kind) }),
    );
    const { rows, ...batch } = batchOf(workspace);
    const wrong = rows.map((one, index) => (index === 2 ? { ...one, row: one.row.with(-2, 'a text' as never) } : one));
    await past.write({ ...batch, rows: wrong });
    await past.finish();
    expect(refused).toEqual(['sale']);
    expect((await stateOf(workspace))?.slice(0, 3)).toEqual(['10/10', '10/10', '9/9']);
  });

  it('add to the insert count, from which writers tell whether a token may be gone', async () => {
    const before = Number(await admin.get('{waymark}:inserts'));
    const workspace = String(workspaces++);
    const past = await openPastEvents(optionsFor(workspace));
    await past.write(batchOf(workspace));
    await past.finish();
    expect(Number(await admin.get('{waymark}:inserts')) - before).toBeGreaterThanOrEqual(9);
  });
});
