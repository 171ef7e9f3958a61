import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createClickHouseClient } from '@waymark/clickhouse';
import { ApiError } from '@waymark/contract';
import { startRedis, type TestRedis, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { JobFailure, type JobRunnerDeps, makeRoom } from '../src/index.js';
import { createRecords, type Job, UNREACHABLE } from './job-records.js';

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

it('of two processes one runs a job, and its end is reported once', async () => {
  const { jobs, ended, reported, startRunner } = createRecords(redis, ['a', 'b', 'c']);
  const runs: string[] = [];
  const run = async ({ id }: Job) => {
    runs.push(id);
    await redis.ping();
  };
  startRunner(run);
  startRunner(run);
  await waitFor(async () => ended().length === 3 && reported.length === 3, { what: 'the ends of the jobs' });
  expect([runs.sort(), reported.sort()]).toEqual([[...jobs.keys()].sort(), [...jobs.keys()].sort()]);
});

it('jobs run at the same time up to the limit, and the next begins when one has ended', async () => {
  const { ended, startRunner } = createRecords(redis, ['a', 'b', 'c']);
  const running: (() => void)[] = [];
  startRunner(() => new Promise<void>((resolve) => running.push(resolve)), 2);
  await waitFor(async () => running.length === 2, { what: 'two jobs' });
  running[0]?.();
  await waitFor(async () => running.length === 3, { what: 'the third job' });
  expect(ended()).toHaveLength(1);
  for (const end of running) end();
  await waitFor(async () => ended().length === 3, { what: 'all ends' });
});

it('a job that cannot go on fails with its reason, and one that is stopped stays for the next process', async () => {
  const { ended, jobs, startRunner } = createRecords(redis, ['a', 'b']);
  let isRunning = false;
  const first = startRunner(async ({ workspaceId }, signal) => {
    if (workspaceId === 'a') throw new JobFailure('The file is gone.');
    isRunning = true;
    await new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
    });
  }, 2);
  await waitFor(async () => ended().length === 1 && isRunning, { what: 'the failure, and the other job' });
  expect(ended()).toMatchObject([{ workspaceId: 'a', status: 'failed', error: 'The file is gone.' }]);
  await first.close();
  startRunner(async () => undefined);
  await waitFor(async () => ended().length === 2, { what: 'the end of the other job' });
  expect([...jobs.values()].at(-1)).toMatchObject({ status: 'completed', attempt: 2 });
});

it.each([
  ['after five seconds', 5000],
  ['once the clock was set back', -3_600_000],
])('a job that was interrupted is tried again %s, not at once', async (_when, shiftMs) => {
  const { jobs, ended, startRunner } = createRecords(redis, ['a']);
  let nowMs = Date.now();
  let polls = 0;
  let wake = () => {};
  let isBroken = true;
  let hasEnded = false;
  const run = async () => {
    if (isBroken) throw new Error('the store does not answer');
  };
  startRunner(run, 1, {
    now: () => nowMs,
    takeSlot: () => () => {
      hasEnded = true;
    },
    subscribe: (subscriber) => {
      wake = () => subscriber.onChange({ records: [{ table: 'jobs' }] } as never);
    },
    listOpen: async () => {
      polls += 1;
      return [...jobs.values()];
    },
  });
  /** Resolves when a poll that began after the call has ended. */
  const nextPolls = async () => {
    for (const count of [polls + 1, polls + 2]) {
      await waitFor(
        () => {
          wake();
          return polls >= count;
        },
        { what: 'the next poll' },
      );
    }
  };
  await waitFor(() => hasEnded, { what: 'the end of the first attempt' });
  await nextPolls();
  expect([...jobs.values()]).toMatchObject([{ status: 'processing', attempt: 1 }]);
  isBroken = false;
  nowMs += shiftMs;
  await nextPolls();
  await waitFor(() => ended().length === 1, { what: 'the end' });
  expect([...jobs.values()]).toMatchObject([{ status: 'completed', attempt: 2 }]);
});

it('a job that has ended its process twenty times fails, and does not run again', async () => {
  const { jobs, ended, startRunner } = createRecords(redis, ['a', 'b']);
  const [id = '', other = ''] = jobs.keys();
  for (const [one, attempt] of [[id, 20] as const, [other, 19] as const]) {
    jobs.set(one, { ...(jobs.get(one) as Job), status: 'processing', attempt });
  }
  const runs: string[] = [];
  startRunner(async (job) => void runs.push(job.id));
  await waitFor(() => ended().length === 2, { what: 'the ends' });
  expect(runs).toEqual([other]);
  expect(jobs.get(id)).toMatchObject({
    status: 'failed',
    error: "The test was tried 20 times, and an error or the end of the server's process stopped each attempt.",
  });
});

it('a job fails a day after its first attempt began, however long it had waited for others before', async () => {
  const { jobs, ended, startRunner } = createRecords(redis, ['a', 'b']);
  const [begun = '', waited = ''] = jobs.keys();
  const dayMs = 24 * 3_600_000;
  const daysAgo = (days: number) => new Date(Date.now() - days * dayMs).toISOString();
  const change = (id: string, fields: Partial<Job>) => jobs.set(id, { ...(jobs.get(id) as Job), ...fields });
  change(begun, { status: 'processing', attempt: 1, createdAt: daysAgo(2), startedAt: daysAgo(1.1) });
  change(waited, { createdAt: daysAgo(2) });
  startRunner(async () => undefined, 1, { ageMsMax: dayMs });
  await waitFor(() => ended().length === 2, { what: 'the ends' });
  expect([begun, waited].map((id) => jobs.get(id)?.status)).toEqual(['failed', 'completed']);
  expect(jobs.get(begun)?.error).toBe('The test did not end within a day.');
});

/** Runs a job whose next attempts, of which only one more would count, fail. @returns its record at its end */
async function afterFailures(failures: number, attempt: (onProgress: () => void) => Promise<never>): Promise<Job> {
  const { jobs, ended, startRunner } = createRecords(redis, ['a']);
  const [id = ''] = jobs.keys();
  jobs.set(id, { ...(jobs.get(id) as Job), status: 'processing', attempt: 19 });
  let nowMs = Date.now();
  let wake = () => {};
  let left = failures;
  const run: JobRunnerDeps<Job>['run'] = async (_job, _signal, _slot, onProgress) => {
    if (left-- > 0) await attempt(onProgress);
  };
  startRunner(run, 1, {
    now: () => nowMs,
    ageMsMax: Number.POSITIVE_INFINITY,
    subscribe: (subscriber) => {
      wake = () => subscriber.onChange({ records: [{ table: 'jobs' }] } as never);
    },
  });
  const later = () => {
    nowMs += 60_000;
    wake();
    return ended().length === 1;
  };
  await waitFor(later, { what: 'the end' });
  return jobs.get(id) as Job;
}

const NOT_COUNTED = { status: 'completed', attempt: 25, interruptions: 5 };

/** Fails as a read does when ClickHouse runs as many statements as it may. */
async function readFromBusyServer(): Promise<never> {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(500).end('Code: 202. DB::Exception: Too many. (TOO_MANY_SIMULTANEOUS_QUERIES)');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = createClickHouseClient({ url, database: 'default' });
  try {
    await client.rows({ query: 'SELECT 1' });
  } finally {
    await client.close();
    server.close();
  }
  throw new Error('the server has answered');
}

const throws = (error: Error) => async (): Promise<never> => {
  throw error;
};
it.each([
  [
    'a store answers to repeat the request',
    throws(new ApiError('internal_server_error', 'Busy.', { retryAfterSeconds: 1 })),
  ],
  ['a store refuses connections', throws(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }))],
  ['too many reads wait', throws(new ApiError('rate_limit_exceeded', 'Too many.', { retryAfterSeconds: 1 }))],
  ['ClickHouse runs as many statements as it may', readFromBusyServer],
])('attempts that end because %s do not count, however many there are', async (_why, attempt) => {
  expect(await afterFailures(5, attempt)).toMatchObject(NOT_COUNTED);
});

it('an attempt that has got on before its error does not count; one that has not does', async () => {
  const gotOn = async (onProgress: () => void): Promise<never> => {
    onProgress();
    throw new Error('an error further on');
  };
  expect(await afterFailures(5, gotOn)).toMatchObject(NOT_COUNTED);
  const atOnce = await afterFailures(5, throws(new Error('an error at the same place')));
  expect(atOnce).toMatchObject({ status: 'failed', attempt: 21, interruptions: 0 });
});

it.each(['its process is stopped', 'its lease is lost'])(
  'an attempt that ends because %s does not count',
  async (how) => {
    const { jobs, ended, startRunner } = createRecords(redis, ['a']);
    const [id = ''] = jobs.keys();
    jobs.set(id, { ...(jobs.get(id) as Job), status: 'processing', attempt: 19 });
    let runs = 0;
    const waitForAbort = (signal: AbortSignal) =>
      new Promise<void>((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
        runs += 1;
      });
    const isRunning = (count: number) => waitFor(() => runs === count, { what: `attempt ${count}` });
    for (const count of [1, 2]) {
      const runner = startRunner((_job, signal) => waitForAbort(signal));
      await isRunning(count);
      if (how === 'its lease is lost') {
        await redis.set(`waymark:test-job:${id}`, 'another process');
        await waitFor(() => jobs.get(id)?.interruptions === count, { what: 'the end of the attempt' });
        await redis.del(`waymark:test-job:${id}`);
      }
      await runner.close();
    }
    startRunner(async () => undefined);
    await waitFor(() => ended().length === 1, { what: 'the end' });
    expect(jobs.get(id)).toMatchObject({ status: 'completed', attempt: 22, interruptions: 2 });
  },
);

it('an end that cannot be reported does not keep the jobs of others from running', async () => {
  const { jobs, ended, startRunner } = createRecords(redis, [UNREACHABLE, 'other']);
  for (const [id, job] of jobs) if (job.workspaceId === UNREACHABLE) jobs.set(id, { ...job, isUnreported: true });
  startRunner(async () => undefined);
  await waitFor(async () => ended().some(({ workspaceId }) => workspaceId === 'other'), {
    what: 'the job of the other',
  });
});

it('room is made by the oldest files of the workspace that uses the most, and never by files in use', async () => {
  const stored = [
    { job: 'old small', workspaceId: 'small', bytes: 10, finishedAt: '1' },
    { job: 'new large', workspaceId: 'large', bytes: 30, finishedAt: '3' },
    { job: 'old large', workspaceId: 'large', bytes: 30, finishedAt: '2' },
    { job: 'large in use', workspaceId: 'large', bytes: 30, finishedAt: null },
  ];
  const removed: string[] = [];
  const options = (bytesMax: number) => ({
    bytesMax,
    async stored() {
      const jobs = stored.filter(({ job }) => !removed.includes(job));
      return { bytes: jobs.reduce((sum, { bytes }) => sum + bytes, 0), jobs };
    },
    remove: async (job: string) => void removed.push(job),
  });
  expect(await makeRoom(options(70))).toEqual({ isMade: true });
  expect(removed).toEqual(['old large']);
  expect(await makeRoom(options(20))).toEqual({ isMade: false, largest: 'large' });
  expect(removed).toEqual(['old large', 'new large']);
});
