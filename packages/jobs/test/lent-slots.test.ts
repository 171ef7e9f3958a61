import { setImmediate as immediate } from 'node:timers/promises';
import { startRedis, type TestRedis, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { JobRunnerDeps } from '../src/index.js';
import { createRecords, type Job } from './job-records.js';

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

it('a job that waits for another system lends its slot, and goes on when one is free', async () => {
  const { ended, startRunner } = createRecords(redis, ['a', 'b']);
  const steps: string[] = [];
  const ends = new Map<string, () => void>();
  const endOf = (what: string) => new Promise<void>((resolve) => ends.set(what, resolve));
  startRunner(async ({ workspaceId }, signal, slot) => {
    if (workspaceId === 'b') return endOf('second');
    await slot.lend(async () => {
      await endOf('wait');
      steps.push('the wait has ended');
    }, signal);
    steps.push('the first goes on');
  });
  await waitFor(async () => ends.has('second'), { what: 'the second job, while the first waits' });
  ends.get('wait')?.();
  await waitFor(async () => steps.length === 1, { what: 'the end of the wait' });
  await redis.ping();
  expect(steps).toEqual(['the wait has ended']);
  ends.get('second')?.();
  await waitFor(async () => ended().length === 2, { what: 'all ends' });
  expect(steps).toEqual(['the wait has ended', 'the first goes on']);
});

it('jobs that lend their slot again and again leave room for a new one', async () => {
  const { ended, startRunner } = createRecords(redis, ['a', 'b', 'c', 'd']);
  const startedBy = new Set<string>();
  startRunner(async ({ workspaceId }, signal, slot) => {
    startedBy.add(workspaceId);
    // All but the last lend it until that one has begun.
    while (workspaceId !== 'd' && !startedBy.has('d')) await slot.lend(immediate, signal);
  });
  await waitFor(async () => ended().length === 4, { what: 'all ends' });
});

it('a job that takes its slot back while another one is about to begin leaves that one waiting', async () => {
  const { jobs, ended, startRunner } = createRecords(redis, ['first', 'second']);
  const [, second] = [...jobs.values()] as [Job, Job];
  jobs.delete(second.id);
  const ends = new Map<string, () => void>();
  const endOf = (what: string) => new Promise<void>((resolve) => ends.set(what, resolve));
  let polls = 0;
  let wake = () => {};
  const run: JobRunnerDeps<Job>['run'] = async ({ workspaceId }, signal, slot) => {
    if (workspaceId === 'first') await slot.lend(() => endOf('wait'), signal);
    await endOf(workspaceId);
  };
  startRunner(run, 1, {
    takeSlot(workspaceId) {
      if (workspaceId === 'second') ends.get('wait')?.();
      return () => undefined;
    },
    subscribe: (subscriber) => {
      wake = () => subscriber.onChange({ records: [{ table: 'jobs' }] } as never);
    },
    async listOpen() {
      polls += 1;
      return [...jobs.values()];
    },
  });
  await waitFor(() => ends.has('wait'), { what: 'the first job to lend its slot' });
  const until = polls + 2;
  const isOfferOver = () => {
    wake();
    return polls >= until;
  };
  await waitFor(isOfferOver, { what: 'polls that leave the slot free' });
  jobs.set(second.id, second);
  wake();
  await waitFor(() => ends.has('first'), { what: 'the first job to go on' });
  const later = polls + 2;
  await waitFor(
    () => {
      wake();
      return polls >= later;
    },
    { what: 'further polls' },
  );
  expect(ends.has('second')).toBe(false);
  ends.get('first')?.();
  await waitFor(() => ends.has('second'), { what: 'the second job' });
  ends.get('second')?.();
  await waitFor(() => ended().length === 2, { what: 'all ends' });
});
