import { startRedis, type TestRedis } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { jobKey } from '../../src/queue/keys.js';
import { confirmJobs } from '../../src/writer/confirm-jobs.js';

let server: TestRedis;
let redis: Redis;
beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

const aJob = (id: string, discarded: readonly number[]) => ({
  ...{ id, discarded, isRedelivered: false, addedMs: 0, receivedMs: 0 },
  data: { v: 1, rows: 3, size: 10 },
});

it('a writer keeps only jobs that the server has, with the rows discarded that the writer leaves out', async () => {
  const set = (id: string, progress: string) => redis.hset(jobKey('sale', id), { name: 'rows', progress });
  await Promise.all([set('plain', '0'), set('same', '{"struck":[0,2]}'), set('decided-otherwise', '{"struck":[1]}')]);
  await redis.hset(jobKey('sale', 'without-progress'), { name: 'rows' });
  const kept = [aJob('plain', []), aJob('same', [2, 0]), aJob('without-progress', [])];
  const dropped = [aJob('absent', []), aJob('decided-otherwise', []), aJob('decided-otherwise', [1, 2])];
  const replication = { isOn: true, confirmed: <T>(work: () => Promise<T>) => work() };
  expect(await confirmJobs(redis, replication, 'sale', [...kept, ...dropped])).toEqual(kept);
});
