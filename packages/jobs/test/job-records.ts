import type { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import { createJobRunner, type JobRecord, type JobRunnerDeps } from '../src/index.js';

/** A workspace whose ends of jobs cannot be reported. */
export const UNREACHABLE = 'unreachable';

export interface Job extends JobRecord {
  error?: string;
}

/** Records of jobs that several runners share, as processes do. Their leases are in `redis`. */
export function createRecords(redis: Redis, workspaceIds: readonly string[]) {
  const createdAt = new Date().toISOString();
  const mark = Math.random();
  const jobs = new Map<string, Job>(
    workspaceIds.map((workspaceId, index) => {
      const id = `job ${index} ${mark}`;
      return [
        id,
        {
          id,
          workspaceId,
          status: 'queued',
          attempt: 0,
          interruptions: 0,
          createdAt,
          startedAt: null,
          isUnreported: false,
        },
      ];
    }),
  );
  const change = (id: string, fields: Partial<Job>): Job => {
    const changed = { ...(jobs.get(id) as Job), ...fields };
    jobs.set(id, changed);
    return changed;
  };
  const reported: string[] = [];
  const ended = () => [...jobs.values()].filter(({ status }) => status === 'completed' || status === 'failed');

  function startRunner(run: JobRunnerDeps<Job>['run'], jobsMax = 1, deps: Partial<JobRunnerDeps<Job>> = {}) {
    const runner = createJobRunner<Job>({
      ...{ redis, logger: { warn: () => undefined }, subscribe: () => () => undefined, now: Date.now },
      ...{ what: 'test', table: 'jobs', jobsMax, ageMsMax: 60_000 },
      get: async (_workspaceId, id) => jobs.get(id),
      listOpen: async () => [...jobs.values()],
      async begin({ id }) {
        const current = jobs.get(id) as Job;
        if (ended().includes(current)) return current;
        const startedAt = current.startedAt ?? new Date((deps.now ?? Date.now)()).toISOString();
        return change(id, { status: 'processing', attempt: current.attempt + 1, startedAt });
      },
      interrupted: async ({ id, interruptions }) => change(id, { interruptions: interruptions + 1 }),
      takeSlot: () => () => undefined,
      async run(job, signal, slot, onProgress) {
        await run(job, signal, slot, onProgress);
        change(job.id, { status: 'completed', isUnreported: true });
      },
      fail: async ({ id }, error) => void change(id, { status: 'failed', error, isUnreported: true }),
      async report({ id, workspaceId }) {
        if (workspaceId === UNREACHABLE) throw new Error('the store of its workspace does not answer');
        reported.push(id);
        change(id, { isUnreported: false });
      },
      ...deps,
    });
    onTestFinished(() => runner.close());
    runner.start();
    return runner;
  }
  return { jobs, ended, reported, startRunner };
}
