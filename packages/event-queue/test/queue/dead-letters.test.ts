import { aLead, startRedis, type TestRedis } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { discardDeadLetters, listDeadLetters, replayDeadLetters } from '../../src/index.js';
import { createDeadLetters } from '../../src/queue/dead-letters.js';
import { DEAD_LETTER_QUEUE, jobKey, queueKey, rowsKey } from '../../src/queue/keys.js';
import { alone } from '../alone.js';

let server: TestRedis;
let redis: Redis;
let other: Redis;

beforeAll(async () => {
  server = await startRedis();
  [redis, other] = [new Redis(server.url), new Redis(server.url)];
});
afterEach(async () => {
  vi.restoreAllMocks();
  await redis.flushall();
});
afterAll(async () => {
  redis.disconnect();
  other.disconnect();
  await server.stop();
});

/** Parks a row. @returns the id of its letter */
async function aLetter(jobId: string): Promise<string> {
  const row = JSON.stringify(aLead());
  await createDeadLetters(redis, alone(redis)).park([
    { kind: 'lead', version: 1, row, error: 'refused', at: 1, jobId, index: 0 },
  ]);
  return `${jobId}-0`;
}

/** Calls `work` once while a replay has read a letter, before its transaction. */
function duringReplay(work: () => Promise<unknown>): void {
  const exists = redis.exists.bind(redis) as (key: string) => Promise<number>;
  vi.spyOn(redis, 'exists').mockImplementationOnce(async (key: unknown) => {
    await work();
    return exists(key as string);
  });
}

const JOB = '01890000-0000-7000-8000-000000000001';
const OTHER_JOB = '01890000-0000-7000-8000-000000000002';

it('a letter that is discarded during its replay is not stored, and the others are', async () => {
  const [id, otherId] = [await aLetter(JOB), await aLetter(OTHER_JOB)];
  duringReplay(() => discardDeadLetters(other, [id], async () => undefined));
  expect(await replayDeadLetters(redis)).toBe(1);
  expect(await redis.lrange(queueKey('lead', 'wait'), 0, -1)).toEqual([otherId]);
  expect(await listDeadLetters(redis)).toMatchObject({ total: 0 });
});

it('a letter that is erased during its replay is not stored as it was; the next replay stores what is left', async () => {
  const id = await aLetter(JOB);
  const letterKey = jobKey(DEAD_LETTER_QUEUE, id);
  const data = JSON.parse((await redis.hget(letterKey, 'data')) ?? '');
  const erased = { ...data, row: JSON.stringify([...JSON.parse(data.row).slice(0, 2), 'erased']) };
  duringReplay(() => other.hset(letterKey, 'data', JSON.stringify(erased)));
  expect(await replayDeadLetters(redis)).toBe(0);
  expect(await listDeadLetters(redis)).toMatchObject({ total: 1 });
  expect(await replayDeadLetters(redis)).toBe(1);
  expect(await redis.get(rowsKey('lead', id))).toBe(erased.row);
});
