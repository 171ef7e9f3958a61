import { startRedis, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { it, onTestFinished } from 'vitest';
import { createJobRunner, type JobRecord } from '../src/index.js';

it('a job that another process runs takes no slot of its workspace here', async () => {
  const server = await startRedis();
  const redis = new Redis(server.url);
  let job: JobRecord = {
    ...{ id: 'job_1', workspaceId: 'ws_1', status: 'queued', attempt: 0, interruptions: 0, isUnreported: false },
    ...{ createdAt: new Date().toISOString(), startedAt: null },
  };
  const change = async (fields: Partial<JobRecord>) => {
    job = { ...job, ...fields };
    return job;
  };
  let [polls, taken] = [0, 0];
  let wake = () => {};
  await redis.set('waymark:test-job:job_1', 'another process');
  const runner = createJobRunner<JobRecord>({
    ...{ redis, logger: { warn: () => undefined }, now: Date.now, what: 'test', table: 'jobs' },
    ...{ jobsMax: 1, ageMsMax: 60_000 },
    subscribe: (subscriber) => {
      wake = () => subscriber.onChange({ records: [{ table: 'jobs' }] } as never);
      return () => undefined;
    },
    get: async () => job,
    async listOpen() {
      polls += 1;
      return [job];
    },
    begin: () => change({ status: 'processing', attempt: 1 }),
    interrupted: async () => undefined,
    takeSlot() {
      taken += 1;
      return () => {
        taken -= 1;
      };
    },
    run: async () => void (await change({ status: 'completed' })),
    fail: async () => undefined,
    report: async () => undefined,
  });
  onTestFinished(async () => {
    await runner.close();
    redis.disconnect();
    await server.stop();
  });
  runner.start();
  const woken = (isDone: () => boolean) => () => {
    wake();
    return isDone();
  };
  await waitFor(
    woken(() => polls >= 3),
    { what: 'polls while another process runs the job' },
  );
  await redis.del('waymark:test-job:job_1');
  await waitFor(
    woken(() => job.status === 'completed' && taken === 0),
    { what: 'the job to run here, and no slot to be taken' },
  );
});
