import { freePort, startRedis, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { checkShards } from '../src/check-shards.js';

const MARK = '{waymark}:shard';
const logger = { warn: () => undefined };

function queueAt(url: string) {
  const redis = new Redis(url, { retryStrategy: () => 20 });
  redis.on('error', () => undefined);
  onTestFinished(() => redis.disconnect());
  return { url, redis };
}

async function aServer() {
  const server = await startRedis();
  onTestFinished(() => server.stop());
  return server;
}

it('a process starts although a queue shard is away', async () => {
  const here = queueAt((await aServer()).url);
  const away = queueAt(`redis://127.0.0.1:${await freePort()}`);
  await checkShards([here, away], logger);
  expect(await here.redis.hgetall(MARK)).toEqual({ number: '0', count: '2' });
});

it('a queue shard is checked again after each reconnect, because another Redis may be at its address', async () => {
  const [one, other] = await Promise.all([aServer(), aServer()]);
  const queues = [one, other].map(({ url }) => queueAt(url));
  await checkShards(queues, logger);
  const admin = queueAt(other.url).redis;
  for (let time = 0; time < 2; time++) {
    // A shard without a mark gets one when it is checked.
    await admin.del(MARK);
    await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await waitFor(async () => (await admin.exists(MARK)) === 1, { what: 'another check' });
  }
  expect(await admin.hgetall(MARK)).toEqual({ number: '1', count: '2' });
});

it('a check that Redis has refused is repeated until it answers', async () => {
  const queues = [await aServer(), await aServer()].map(({ url }) => queueAt(url));
  const admin = queues[1]?.redis as Redis;
  await admin.set(MARK, 'not a hash');
  const warnings: unknown[] = [];
  await checkShards(queues, { warn: (warning: unknown) => void warnings.push(warning) });
  await waitFor(() => warnings.length > 0, { what: 'the check to fail' });
  await admin.del(MARK);
  await waitFor(async () => (await admin.exists(MARK)) === 1, { what: 'another check' });
  expect(await admin.hgetall(MARK)).toEqual({ number: '1', count: '2' });
});
