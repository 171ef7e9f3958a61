import { createEventId } from '@waymark/contract';
import { createReplication } from '@waymark/redis';
import { aClick, startRedis, type TestRedis } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createTails, type TailPosition, type Tails } from '../../src/index.js';
import { createTailPublisher } from '../../src/tail/tail-publisher.js';
import type { Manifest } from '../../src/writer/manifest.js';
import { soleManifest } from '../alone.js';

let server: TestRedis;
let redis: Redis;
let tails: Tails;
let manifest: Manifest;
let batches = 0;

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
  tails = createTails(redis, createReplication(redis, 0));
  manifest = soleManifest(redis);
});
beforeEach(() => redis.flushall());
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

const LIMITS = { perKey: 2, perWorkspace: 3 };
const aStream = (name = 'key_1:a', workspace = '1') => ({ workspace, name });
const open = async (stream = aStream()) => (await tails.open(stream, LIMITS)) as TailPosition;
const rowsOf = (workspaceId: string, count: number) =>
  Array.from({ length: count }, () => JSON.stringify(aClick({ workspaceId, clickId: createEventId(Date.now()) })));
const idsOf = (rows: readonly string[]) => rows.map((row) => String((JSON.parse(row) as unknown[])[2]));

/** Begins an insert batch, as a writer does before its insert. @returns a function that acknowledges it, and counts the attempts */
async function aBatch(rows: readonly string[], publisher = createTailPublisher()) {
  batches += 1;
  const [batchId, jobIds] = [`batch-${batches}`, [`job-${batches}`]];
  await manifest.begin({ id: batchId, kind: 'click', version: 1, jobIds, skipped: {}, at: Date.now() });
  return async () => {
    let attempts = 0;
    await publisher.publish('click', rows, (publication) => {
      attempts += 1;
      return manifest.acknowledge({ batchId, jobIds, webhookJobs: [], publication });
    });
    return attempts;
  };
}

async function idsAfter(position: TailPosition, workspace = '1'): Promise<string[]> {
  return ((await tails.read(new Map([[workspace, position]]))).get(workspace) ?? []).flatMap(({ ids }) => ids);
}

describe('the tail of a workspace', () => {
  it('is not written, and no id is sent, while no stream is open', async () => {
    const acknowledge = await aBatch(rowsOf('1', 3));
    await redis.config('RESETSTAT');
    expect(await acknowledge()).toBe(1);
    expect(await redis.keys('*tail*')).toEqual([]);
    expect(await redis.info('commandstats')).not.toMatch(/cmdstat_(?:xadd|xrevrange|hgetall)/);
  });

  it('has every event that is acknowledged after the first subscription, also if its writer had not read the subscription yet', async () => {
    const publisher = createTailPublisher();
    await (await aBatch(rowsOf('1', 1), publisher))();
    const rows = rowsOf('1', 2);
    const acknowledge = await aBatch(rows, publisher);
    const position = await open();
    expect(await acknowledge()).toBe(2);
    expect(await idsAfter(position)).toEqual(idsOf(rows));
    const more = rowsOf('1', 1);
    expect(await (await aBatch(more, publisher))()).toBe(1);
    expect(await idsAfter(position)).toEqual([...idsOf(rows), ...idsOf(more)]);
  });

  it('has an event once, however often its batch is acknowledged, and by whichever writer', async () => {
    const position = await open();
    const rows = rowsOf('1', 2);
    const acknowledge = await aBatch(rows);
    await acknowledge();
    await acknowledge();
    expect(await idsAfter(position)).toEqual(idsOf(rows));
  });

  it('has only events of its workspace, and only of workspaces with subscribers', async () => {
    const [first, second] = [await open(), await open(aStream('key_2:a', '2'))];
    const [mine, theirs, others] = [rowsOf('1', 2), rowsOf('2', 1), rowsOf('3', 1)];
    await (await aBatch([...mine, ...others, ...theirs]))();
    expect([await idsAfter(first), await idsAfter(second, '2')]).toEqual([idsOf(mine), idsOf(theirs)]);
    expect(await redis.exists('{waymark}:tail:3')).toBe(0);
  });

  it('numbers the events of batches of any size without a gap', async () => {
    const position = await open();
    for (const count of [1, 2500, 3]) await (await aBatch(rowsOf('1', count)))();
    const entries = (await tails.read(new Map([['1', position]]))).get('1') ?? [];
    expect(entries.map(({ start, end, ids }) => [start.number, end.number, ids.length])).toEqual([
      [0, 1, 1],
      [1, 1001, 1000],
      [1001, 2001, 1000],
      [2001, 2501, 500],
      [2501, 2504, 3],
    ]);
  });

  it('keeps the last hundred thousand events', async () => {
    const publisher = createTailPublisher();
    const position = await open();
    const rows = rowsOf('1', 20_000);
    for (let batch = 0; batch < 6; batch++) await (await aBatch(rows, publisher))();
    const [first] = (await tails.read(new Map([['1', position]]))).get('1') ?? [];
    expect(first?.start.number).toBe(20_000);
    expect(await redis.xlen('{waymark}:tail:1')).toBe(100);
  });

  it('is begun anew, with another epoch, once its subscription has ended and events may be missing', async () => {
    const position = await open();
    await (await aBatch(rowsOf('1', 1)))();
    await redis.hset('{waymark}:tails', '1', '1');
    const next = await open(aStream('key_1:b'));
    expect(next).toEqual({ epoch: expect.any(Number), number: 0 });
    expect(next.epoch).toBeGreaterThan(position.epoch);
    const rows = rowsOf('1', 1);
    await (await aBatch(rows))();
    expect(await idsAfter(position)).toEqual(idsOf(rows));
  });

  it('with replicas, is not read before they have it: a failover would give the same numbers to other events', async () => {
    const position = await open();
    const other = new Redis(server.url);
    const guarded = createTails(other, createReplication(other, 1));
    expect(await guarded.read(new Map([['1', position]]))).toEqual(new Map());
    await (await aBatch(rowsOf('1', 1)))();
    await expect(guarded.read(new Map([['1', position]]))).rejects.toThrow('0 of 1 replicas');
    other.disconnect();
  });

  it('expires an hour after the last sign of a stream', async () => {
    await open();
    for (const key of ['{waymark}:tails', '{waymark}:tail:1']) {
      expect(await redis.pttl(key)).toBeGreaterThan(3_590_000);
      await redis.pexpire(key, 1000);
    }
    await tails.renew(aStream());
    for (const key of ['{waymark}:tails', '{waymark}:tail:1']) {
      expect(await redis.pttl(key)).toBeGreaterThan(3_590_000);
    }
  });
});

describe('limits of open streams', () => {
  it('count the streams of a key and of a workspace, without those that were closed', async () => {
    await open(aStream('key_1:a'));
    await open(aStream('key_1:b'));
    expect(await open(aStream('key_1:c'))).toBe('key');
    await open(aStream('key_12:a'));
    expect(await open(aStream('key_2:a'))).toBe('workspace');
    expect(await open(aStream('key_1:a', '2'))).toHaveProperty('epoch');
    await tails.close(aStream('key_1:b'));
    expect(await open(aStream('key_1:c'))).toHaveProperty('epoch');
  });

  it('no longer count the streams of a killed process after a minute', async () => {
    await open(aStream('key_1:a'));
    await open(aStream('key_1:b'));
    const ttl = await redis.pttl('{waymark}:streams:1');
    expect(ttl).toBeGreaterThan(50_000);
    expect(ttl).toBeLessThanOrEqual(60_000);
    await redis.zadd('{waymark}:streams:1', '1', 'key_1:a');
    expect(await open(aStream('key_1:c'))).toHaveProperty('epoch');
  });
});
