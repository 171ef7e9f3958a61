import { readdirSync, rmSync } from 'node:fs';
import { createEventId } from '@waymark/contract';
import { startRedis, type TestRedis, temporaryDirectory, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEventProducers, type EventProducer, type EventProducers } from '../../src/index.js';
import { queueKey } from '../../src/queue/keys.js';
import { silentLogger } from '../silent-logger.js';

/** Redis servers of their own, because they are killed. */
let servers: [TestRedis, TestRedis];
let spoolDirectory: string;
let producers: EventProducers;
let shards: readonly [EventProducer, EventProducer];
beforeAll(async () => {
  servers = [await startRedis({ args: [] }), await startRedis({ args: [] })];
  spoolDirectory = temporaryDirectory('waymark-producers-');
  const redisUrls = servers.map(({ url }) => url);
  producers = createEventProducers({ redisUrls, spoolDirectory, logger: silentLogger, spoolBytesMax: 20_000 });
  const [first, second] = producers.shards;
  if (first === undefined || second === undefined) throw new Error('there are two shards');
  shards = [first, second];
  await Promise.all(shards.map((shard) => waitFor(() => shard.ping().then(() => true), { what: 'a connection' })));
});
afterAll(async () => {
  await producers.close();
  await Promise.all(servers.map((server) => server.stop()));
  rmSync(spoolDirectory, { recursive: true });
});

function aClick(text = '') {
  const clickId = createEventId(Date.now());
  return { clickId, claim: `c:${clickId}`, rowText: JSON.stringify(['7', Date.now(), clickId, text]) };
}

async function queuedJobs(shard: 0 | 1): Promise<number> {
  const redis = new Redis(servers[shard].url);
  try {
    return await redis.llen(queueKey('click', 'wait'));
  } finally {
    redis.disconnect();
  }
}

const spooled = () =>
  readdirSync(spoolDirectory, { recursive: true, encoding: 'utf8' }).filter((name) => /~/.test(name));

describe('the producers of two queue shards', () => {
  it('while one shard is away: its clicks are spooled apart, the other goes on, and the process is ready', async () => {
    await servers[1].kill9();
    const away = await Promise.all(Array.from({ length: 3 }, () => shards[1].recordClick(aClick())));
    expect(away.every(({ isNew }) => isNew)).toBe(true);
    expect(spooled().every((name) => name.startsWith('shard-1/'))).toBe(true);
    const before = await queuedJobs(0);
    await shards[0].recordClick(aClick());
    expect(await queuedJobs(0)).toBe(before + 1);
    await producers.ping();
    await expect(shards[1].ping()).rejects.toThrow();
    await expect(shards[1].commit({ rows: [], finals: [] })).rejects.toMatchObject({ code: 'internal_server_error' });
    await shards[0].commit({ rows: [], finals: [] });
  });

  it('both spools together stay within the limit', async () => {
    await servers[0].kill9();
    const fill = async (shard: EventProducer) => {
      for (let count = 0; count < 30; count++) {
        try {
          await shard.recordClick(aClick('x'.repeat(2_000)));
        } catch {
          return count;
        }
      }
      return undefined;
    };
    expect(await fill(shards[0])).toBeGreaterThan(1);
    expect(await fill(shards[1])).toBe(0);
  });

  it('not ready while every shard is away', async () => {
    await expect(producers.ping()).rejects.toThrow('redis does not respond');
  });

  it('each shard is replayed as soon as it is back, whether or not the other is', async () => {
    await servers[1].restart();
    await waitFor(() => !spooled().some((name) => name.startsWith('shard-1/')), { what: 'the replay of shard 1' });
    expect(spooled().length).toBeGreaterThan(0);
    expect(await queuedJobs(1)).toBeGreaterThan(0);
    await producers.ping();
    await servers[0].restart();
    await waitFor(() => spooled().length === 0, { what: 'the replay of shard 0' });
  });
});
