import { setImmediate as immediate } from 'node:timers/promises';
import { derivedEventId } from '@waymark/contract';
import {
  aClick,
  aSale,
  createTestDatabase,
  insertSales,
  startRedis,
  type TestDatabase,
  type TestRedis,
  waitFor,
} from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createPastClaims, LostClaimsError } from '../../src/history/past-claims.js';
import { openPastEvents, type PastBatch, type PastClaim, type PastEventsOptions } from '../../src/index.js';
import { claimKey } from '../../src/queue/keys.js';
import { silentLogger } from '../silent-logger.js';

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

const SOLD_MS = Date.UTC(2024, 3, 5);
const idOf = (n: number) => derivedEventId(SOLD_MS + n, Buffer.from([n, 0, 0, 0, 0, 0, 0]));
const NUMBERS = [0, 1, 2];

const LIVE_MS = SOLD_MS + 60_000;

const saleOf = (workspaceId: string, n: number, fields: Parameters<typeof aSale>[0]) =>
  aSale({
    click: aClick({ workspaceId, timestampMs: SOLD_MS - 60_000, linkId: '7' }),
    ...{ timestampMs: SOLD_MS + n, customerId: String(n + 1), invoiceId: `in_${n}`, ...fields },
  });

/** Three sales, each with an invoice, and each the first of its customer. */
function batchOf(workspaceId: string): PastBatch {
  const rows = NUMBERS.map((n) => ({
    kind: 'sale' as const,
    row: saleOf(workspaceId, n, { eventId: idOf(n) }),
  }));
  const claims = NUMBERS.flatMap((n): PastClaim[] => [
    { eventId: idOf(n), name: `invoice:${workspaceId}:${n}`, value: `sale ${n}`, ifTaken: 'drop' },
    { eventId: idOf(n), name: `first-sale:${workspaceId}:${n}`, value: '1', ifTaken: 'recurring' },
  ]);
  return { rows, aliases: [], claims, progressAfter: (dropped) => `without ${dropped}` };
}

const optionsFor = (workspaceNumber: string, more: Partial<PastEventsOptions> = {}): PastEventsOptions => ({
  ...{ queues: [admin], shard: admin, clickhouse: database.client, workspaceNumber, identity: 'a', leaseMs: 250 },
  onInserting: async () => undefined,
  onInserted: async () => undefined,
  onRefused: async () => undefined,
  logger: silentLogger,
  now: Date.now,
  ...more,
});

/** The sales of a workspace: id and type. */
const storedIn = (workspace: string) =>
  database.client.rows<[string, string]>({
    query: 'SELECT event_id, toString(sale_type) FROM sale_events WHERE workspace_id = {w:UInt64} ORDER BY timestamp',
    parameters: { w: workspace },
  });
const importedIn = (workspace: string) =>
  database.client.rows<[string]>({
    query: 'SELECT toString(sum(events)) FROM imported_counts FINAL WHERE workspace_id = {w:UInt64}',
    parameters: { w: workspace },
  });

/** An event of `/track` takes a claim if it is free. */
const takeAsTrack = (name: string) => admin.set(claimKey(name), 'f:{}', 'PX', 60_000, 'NX');

const claimsIn = (workspace: string) => admin.mget(...batchOf(workspace).claims.map(({ name }) => claimKey(name)));

/** As after 30 seconds: the claims of a process that was killed have expired. */
async function expirePending(workspace: string): Promise<void> {
  for (const { name } of batchOf(workspace).claims)
    if ((await admin.get(claimKey(name)))?.startsWith('p:')) await admin.del(claimKey(name));
}

/** A connection whose process is killed at its nth script: before it, or after it, before the answer is read. */
function dying(at: number, isAfter: boolean, die: () => void): Redis {
  let scripts = 0;
  return new Proxy(admin, {
    get(target, name) {
      const value = target[name as keyof Redis] as unknown;
      if (name !== 'eval') return typeof value === 'function' ? value.bind(target) : value;
      return async (...args: Parameters<Redis['eval']>) => {
        scripts += 1;
        if (scripts > at || (scripts === at && !isAfter)) {
          die();
          throw new Error('killed');
        }
        const answer = await target.eval(...args);
        if (scripts < at) return answer;
        die();
        throw new Error('killed');
      };
    },
  });
}

/** Runs the import of the batch again, as far as it has not come. */
async function importAgain(workspace: string): Promise<void> {
  const past = await openPastEvents(optionsFor(workspace));
  const batch = batchOf(workspace);
  if (past.progress === undefined) await past.write({ ...batch, rows: await past.absent(batch.rows) });
  await past.finish();
}

describe('claims of past events', () => {
  it('drop a sale whose invoice another event has, and make one recurring whose customer has another first sale', async () => {
    const workspace = String(workspaces++);
    await takeAsTrack(`invoice:${workspace}:0`);
    await takeAsTrack(`first-sale:${workspace}:1`);
    const past = await openPastEvents(optionsFor(workspace));
    expect(await past.write(batchOf(workspace))).toBe(1);
    await past.close();
    expect(await storedIn(workspace)).toEqual([
      [idOf(1), 'recurring'],
      [idOf(2), 'new'],
    ]);
    expect(await importedIn(workspace)).toEqual([['2']]);
    const next = await openPastEvents(optionsFor(workspace));
    expect(next.progress).toBe('without 1');
    await next.finish();
  });

  it('make the next sale of a customer on a link the first where that is dropped', async () => {
    const workspace = String(workspaces++);
    await takeAsTrack(`invoice:${workspace}:0`);
    const batch = batchOf(workspace);
    const next = saleOf(workspace, 0, {
      ...{ timestampMs: SOLD_MS + 3, eventId: idOf(3), invoiceId: 'in_3', saleType: 'recurring' },
    });
    const past = await openPastEvents(optionsFor(workspace));
    expect(await past.write({ ...batch, rows: [...batch.rows, { kind: 'sale', row: next }] })).toBe(1);
    await past.finish();
    expect(await storedIn(workspace)).toEqual([1, 2, 3].map((n) => [idOf(n), 'new']));
    expect(await claimsIn(workspace)).toEqual(['f:{}', null, null, null, null, null]);
  });

  it('are pending while the events are stored, and free after that; those of others stay', async () => {
    const workspace = String(workspaces++);
    await takeAsTrack(`invoice:${workspace}:0`);
    const during: (string | null)[] = [];
    const onInserting = async () => void during.push(...(await claimsIn(workspace)));
    const past = await openPastEvents(optionsFor(workspace, { onInserting }));
    await past.write(batchOf(workspace));
    await past.finish();
    const pending = expect.stringMatching(/^p:past /);
    expect(during).toEqual(['f:{}', pending, pending, pending, pending, pending]);
    expect(await claimsIn(workspace)).toEqual(['f:{}', null, null, null, null, null]);
  });

  it('answer for replicas of a cluster that lag', async () => {
    const shared = {
      workspaceNumber: '1',
      retry: <T>(_what: string, work: (attempt: number) => Promise<T>) => work(0),
    };
    const claims = createPastClaims({
      ...{ ...shared, shard: admin, waitReplicas: 0, clickhouse: database.client, cluster: 'waymark' },
    });
    const batch = { id: 'a', claims: batchOf('1').claims };
    expect(await claims.hold(batch)).toEqual([]);
    await claims.end(batch, new Map(batch.claims.map(({ name, value }) => [name, value])));
    expect(await claimsIn('1')).toEqual(['f:sale 0', 'f:1', 'f:sale 1', 'f:1', 'f:sale 2', 'f:1']);
    for (const { name } of batch.claims) expect(await admin.pttl(claimKey(name))).toBeGreaterThan(60_000);
  });

  describe('of a batch that takes long to be stored', () => {
    const claimsOf = (workspaceNumber: string, shard = admin) =>
      createPastClaims({
        ...{ workspaceNumber, shard, waitReplicas: 0, clickhouse: database.client, cluster: undefined },
        retry: (_what, work) => work(0),
      });
    const after = (ms: number) => {
      const startMs = performance.now();
      vi.spyOn(performance, 'now').mockReturnValue(startMs + ms);
      onTestFinished(() => void vi.restoreAllMocks());
    };

    it('are renewed before they expire', async () => {
      const workspace = String(workspaces++);
      const claims = claimsOf(workspace);
      const batch = { id: 'a', claims: batchOf(workspace).claims };
      const keys = batch.claims.map(({ name }) => claimKey(name));
      await claims.hold(batch);
      for (const key of keys) await admin.pexpire(key, 20_000);
      after(10_000);
      await claims.renew();
      for (const key of keys) expect(await admin.pttl(key)).toBeGreaterThan(20_000);
    });

    it('are ended only after a renewal that has begun, which would take them again', async () => {
      const workspace = String(workspaces++);
      const batch = { id: 'a', claims: batchOf(workspace).claims };
      let release = (): void => undefined;
      const gate = new Promise<void>((resolve) => {
        release = resolve;
      });
      let isHeldBack = false;
      const shard = new Proxy(admin, {
        get(target, name) {
          const value = target[name as keyof Redis] as unknown;
          if (name !== 'eval') return typeof value === 'function' ? value.bind(target) : value;
          return async (...args: Parameters<Redis['eval']>) => {
            if (isHeldBack) {
              isHeldBack = false;
              await gate;
            }
            return target.eval(...args);
          };
        },
      });
      const claims = claimsOf(workspace, shard);
      await claims.hold(batch);
      after(10_000);
      isHeldBack = true;
      const renewing = claims.renew();
      const ending = claims.end(batch, new Map());
      await immediate();
      await admin.ping();
      release();
      await Promise.all([renewing, ending]);
      expect(await claimsIn(workspace)).toEqual(batch.claims.map(() => null));
    });

    it('are lost when another event has one that has expired', async () => {
      const workspace = String(workspaces++);
      const claims = claimsOf(workspace);
      await claims.hold({ id: 'a', claims: batchOf(workspace).claims });
      await expirePending(workspace);
      await takeAsTrack(`invoice:${workspace}:1`);
      after(10_000);
      await expect(claims.renew()).rejects.toBeInstanceOf(LostClaimsError);
    });
  });

  it.each([
    [1, false],
    [1, true],
    [2, false],
    [2, true],
    [3, false],
    [3, true],
  ] as const)(
    'of an import that is killed at its call %s to Redis (after it: %s) end, and what /track records then is not imported again',
    async (call, isAfter) => {
      const workspace = String(workspaces++);
      const stopped = new AbortController();
      const shard = dying(call, isAfter, () => stopped.abort());
      const first = await openPastEvents(optionsFor(workspace, { shard, signal: stopped.signal }));
      await expect(first.write(batchOf(workspace))).rejects.toThrow();
      await expirePending(workspace);
      const isStored = (await storedIn(workspace)).length > 0;
      expect(isStored).toBe(call === 3);
      // As `/track/sale`, which looks for a sale without a claim in ClickHouse.
      if (!isStored) expect(await takeAsTrack(`invoice:${workspace}:2`)).toBe('OK');
      await importAgain(workspace);
      const all = NUMBERS.map((n) => [idOf(n), 'new']);
      expect(await storedIn(workspace)).toEqual(isStored ? all : all.slice(0, 2));
    },
  );

  it('of a batch that was begun are compared with sales that are stored without a claim by now', async () => {
    const workspace = String(workspaces++);
    const stopped = new AbortController();
    const clickhouse = new Proxy(database.client, {
      get(target, name) {
        const value = target[name as keyof typeof target] as unknown;
        if (name === 'insert' || name === 'exec') {
          stopped.abort();
          return () => Promise.reject(new Error('killed'));
        }
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const first = await openPastEvents(optionsFor(workspace, { clickhouse, signal: stopped.signal }));
    await expect(first.write(batchOf(workspace))).rejects.toThrow();
    await expirePending(workspace);
    const [same, another] = [1, 2].map((n) => derivedEventId(LIVE_MS + n, Buffer.alloc(7))) as [string, string];
    const live = { timestampMs: LIVE_MS };
    await insertSales(database.client, [
      saleOf(workspace, 0, { ...live, eventId: same }),
      saleOf(workspace, 1, { ...live, eventId: another, invoiceId: 'in_another' }),
    ]);
    const again = await openPastEvents(optionsFor(workspace));
    expect(again.dropped).toBe(1);
    await again.finish();
    expect(await storedIn(workspace)).toEqual([
      [idOf(1), 'recurring'],
      [idOf(2), 'new'],
      [same, 'new'],
      [another, 'new'],
    ]);
  });

  it('of stored events are found in a batch of any size, and none is found in its own rows', async () => {
    const workspace = String(workspaces++);
    const invoice = (n: number) => `${n}${'水'.repeat(250)}`;
    const at = (n: number) => derivedEventId(SOLD_MS + n, Buffer.alloc(7));
    const numbers = Array.from({ length: 1_000 }, (_none, n) => n);
    const rowOf = (n: number) => saleOf(workspace, n, { eventId: at(n), invoiceId: invoice(n), customerId: '1' });
    const stored = derivedEventId(LIVE_MS, Buffer.alloc(7));
    await insertSales(database.client, [
      rowOf(3),
      saleOf(workspace, 999, { timestampMs: LIVE_MS, eventId: stored, invoiceId: invoice(999), customerId: '2' }),
    ]);
    const claims = createPastClaims({
      ...{ shard: admin, waitReplicas: 0, clickhouse: database.client, cluster: undefined },
      ...{ workspaceNumber: workspace, retry: (_what, work) => work(1) },
    });
    const taken = await claims.ofStoredEvents({
      ...{ id: 'a', revision: 0, at: 0, insertsBefore: 0, insertsElsewhere: [], progress: '', aliases: [], months: [] },
      parts: [{ name: 'sale-2024', kind: 'sale', rows: numbers.map((n) => JSON.stringify(rowOf(n))) }],
      claims: numbers.map((n) => ({ eventId: at(n), name: `invoice:${workspace}:${n}`, ifTaken: 'drop' })),
    });
    expect(taken.map(({ eventId }) => eventId)).toEqual([at(999)]);
  });

  it('are looked at before each insert: what /track recorded while the import was suspended is not stored again', async () => {
    const workspace = String(workspaces++);
    let isSuspended = false;
    const onInserting = async () => {
      isSuspended = true;
      const startMs = performance.now();
      vi.spyOn(performance, 'now').mockReturnValue(startMs + 31_000);
      onTestFinished(() => void vi.restoreAllMocks());
      await expirePending(workspace);
      await takeAsTrack(`invoice:${workspace}:2`);
    };
    // No renewal runs meanwhile, as when the process is stopped.
    const first = await openPastEvents(optionsFor(workspace, { onInserting, leaseMs: 60_000 }));
    await expect(first.write(batchOf(workspace))).rejects.toBeInstanceOf(LostClaimsError);
    vi.restoreAllMocks();
    await first.close();
    expect(isSuspended).toBe(true);
    expect(await storedIn(workspace)).toEqual([]);
    await expirePending(workspace);
    await importAgain(workspace);
    expect(await storedIn(workspace)).toEqual([0, 1].map((n) => [idOf(n), 'new']));
  });

  it('wait for a request that holds one of them', async () => {
    const workspace = String(workspaces++);
    const key = claimKey(`invoice:${workspace}:0`);
    await admin.set(key, 'p:a request', 'PX', 60_000);
    const past = await openPastEvents(optionsFor(workspace));
    const writing = past.write(batchOf(workspace));
    const isTaken = async () => (await admin.exists(claimKey(`invoice:${workspace}:1`))) === 1;
    await waitFor(isTaken, { what: 'the claims that are free to be taken' });
    expect(await storedIn(workspace)).toEqual([]);
    await admin.del(key);
    expect(await writing).toBe(0);
    await past.finish();
    expect(await storedIn(workspace)).toHaveLength(3);
  });
});
