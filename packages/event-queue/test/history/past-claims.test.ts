import { derivedEventId } from '@waymark/contract';
import {
  aClick,
  aSale,
  createTestDatabase,
  startRedis,
  type TestDatabase,
  type TestRedis,
  waitFor,
} from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type ClaimAdmin,
  createClaimAdmin,
  openPastEvents,
  type PastBatch,
  type PastClaim,
  type PastEventsOptions,
} from '../../src/index.js';
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

/** Three sales, each with an invoice, and each the first of its customer. */
function batchOf(workspaceId: string): PastBatch {
  const numbers = [0, 1, 2];
  const rows = numbers.map((n) => {
    const click = aClick({ workspaceId, timestampMs: SOLD_MS - 60_000 });
    const row = aSale({ click, timestampMs: SOLD_MS + n, eventId: idOf(n), saleType: 'new' });
    return { kind: 'sale' as const, row };
  });
  const claims = numbers.flatMap((n): PastClaim[] => [
    { eventId: idOf(n), name: `invoice:${workspaceId}:${n}`, value: `sale ${n}`, otherwise: 'drop' },
    { eventId: idOf(n), name: `first-sale:${workspaceId}:${n}`, value: idOf(n), otherwise: 'recurring' },
  ]);
  return { rows, aliases: [], claims, progressAfter: (dropped) => `without ${dropped}` };
}

const optionsFor = (workspaceNumber: string, claims: PastEventsOptions['claims'] = createClaimAdmin(admin)) => ({
  ...{ queues: [admin], clickhouse: database.client, claims, workspaceNumber, identity: 'a', leaseMs: 250 },
  onInserting: async () => undefined,
  onInserted: async () => undefined,
  onRefused: async () => undefined,
  logger: silentLogger,
  now: Date.now,
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

/** An event of `/track` takes a claim. */
const takeAsTrack = (name: string) => admin.set(claimKey(name), 'f:{}', 'PX', 60_000);

/** Claims whose process dies before or after they are taken. */
function dying(when: 'before' | 'after', die: () => void): Pick<ClaimAdmin, 'takeFinal' | 'expire'> {
  const claims = createClaimAdmin(admin);
  return {
    ...claims,
    async takeFinal(...args) {
      if (when === 'after') await claims.takeFinal(...args);
      die();
      throw new Error('killed');
    },
  };
}

describe('claims of past events', { timeout: 60_000 }, () => {
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

  it('are final while the events are stored, and end soon after; those of others stay', async () => {
    const workspace = String(workspaces++);
    await takeAsTrack(`invoice:${workspace}:0`);
    const during: (string | null)[] = [];
    const names = batchOf(workspace).claims.map(({ name }) => claimKey(name));
    const past = await openPastEvents({
      ...optionsFor(workspace),
      onInserting: async () => void during.push(...(await admin.mget(...names))),
    });
    await past.write(batchOf(workspace));
    await past.finish();
    expect(during).toEqual(['f:{}', null, 'f:sale 1', `f:${idOf(1)}`, 'f:sale 2', `f:${idOf(2)}`]);
    const ttls = await Promise.all(names.map((name) => admin.pttl(name)));
    expect(ttls[0]).toBeGreaterThan(30_000);
    for (const ttl of ttls.slice(2)) expect(ttl).toSatisfy((ms: number) => ms > 0 && ms <= 15_000);
  });

  it.each(['before', 'after'] as const)(
    'of an import that was killed just %s it took them are its own when it is continued, but for those that others took meanwhile',
    async (when) => {
      const workspace = String(workspaces++);
      const stopped = new AbortController();
      const claims = dying(when, () => stopped.abort());
      const first = await openPastEvents({ ...optionsFor(workspace, claims), signal: stopped.signal });
      await expect(first.write(batchOf(workspace))).rejects.toThrow('killed');
      expect(await storedIn(workspace)).toEqual([]);
      if (when === 'before') await takeAsTrack(`invoice:${workspace}:2`);
      await (await openPastEvents(optionsFor(workspace))).finish();
      const all = [0, 1, 2].map((n) => [idOf(n), 'new']);
      expect(await storedIn(workspace)).toEqual(when === 'before' ? all.slice(0, 2) : all);
    },
  );

  it('wait for a request that holds one of them', async () => {
    const workspace = String(workspaces++);
    const key = claimKey(`invoice:${workspace}:0`);
    await admin.set(key, 'p:a request', 'PX', 60_000);
    const past = await openPastEvents(optionsFor(workspace));
    const writing = past.write(batchOf(workspace));
    // The others are taken while it waits.
    const isTaken = async () => (await admin.exists(claimKey(`invoice:${workspace}:1`))) === 1;
    await waitFor(isTaken, { what: 'the claims that are free to be taken' });
    expect(await storedIn(workspace)).toEqual([]);
    await admin.del(key);
    expect(await writing).toBe(0);
    await past.finish();
    expect(await storedIn(workspace)).toHaveLength(3);
  });
});
