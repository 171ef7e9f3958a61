import { EXPORT_JOBS_TABLE, type ExportJobRecord, isUnfinished } from '@waymark/catalog';
import type { ApiError } from '@waymark/contract';
import type { ExportDeps } from '@waymark/export';
import type { Logger } from '@waymark/http-kit';
import type { Redis } from 'ioredis';
import { createLookLoop } from '../look-loop.js';
import type { JobEnds } from './job-ends.js';
import { failureOf, JobStopped } from './job-error.js';
import { LEASE_MS, takeLease } from './job-lease.js';
import { type RunJobDeps, runJob } from './run-job.js';

export interface JobRunnerDeps extends RunJobDeps, ExportDeps {
  readonly redis: Redis;
  readonly ends: JobEnds;
  readonly logger: Pick<Logger, 'warn'>;
}

/** Runs the jobs of all workspaces, one at a time. */
export interface JobRunner {
  start(): void;
  /** Stops at the next slice. Another process, or the next start, continues the job. */
  close(): Promise<void>;
}

/** Interval of the looks for jobs that no change has announced, and for files whose time is over. */
const LOOK_EVERY_MS = 60_000;
/** Pause after an error that may be gone later. */
const RETRY_MS = 5_000;
/** A job that ends its process this often is given up. */
const ATTEMPTS_MAX = 20;
const DAY_MS = 24 * 3_600_000;

type Outcome = 'ended' | 'busy' | 'later';

export function createJobRunner(deps: JobRunnerDeps): JobRunner {
  const { catalog, files, ends, exportSlots, redis, logger, now } = deps;
  const closing = new AbortController();
  /** By workspace, a number that grows with each of its jobs: the workspace whose turn was longest ago comes first. */
  const turns = new Map<string, number>();
  let lastTurn = 0;

  function takeSlot(workspaceId: string): (() => void) | undefined {
    try {
      return exportSlots.take(workspaceId).free;
    } catch (err) {
      if ((err as ApiError).code === 'rate_limit_exceeded') return undefined;
      throw err;
    }
  }

  async function attempt(job: ExportJobRecord, signal: AbortSignal): Promise<Outcome> {
    const startedAt = new Date(now()).toISOString();
    const begun = await catalog.exportJobs.update(job.workspaceId, job.id, (current) =>
      isUnfinished(current)
        ? { status: 'processing', attempt: current.attempt + 1, startedAt: current.startedAt ?? startedAt }
        : {},
    );
    if (!isUnfinished(begun)) return 'ended';
    try {
      if (begun.attempt > ATTEMPTS_MAX || now() - Date.parse(begun.createdAt) > DAY_MS) {
        await ends.failed(begun, 'The export could not be completed in a day, or ended its process too often.');
      } else {
        await ends.completed(begun, await runJob(deps, begun, signal));
      }
      return 'ended';
    } catch (err) {
      if (err instanceof JobStopped) return 'ended';
      if (signal.aborted) return 'later';
      const reason = failureOf(err);
      const current = await catalog.exportJobs.get(job.workspaceId, job.id);
      // A job that was cancelled has lost its files while they were written.
      if (current === undefined || !isUnfinished(current)) return 'ended';
      if (reason === undefined) {
        logger.warn({ err, jobId: job.id, workspaceId: job.workspaceId }, 'an export was interrupted; it continues');
        return 'later';
      }
      await ends.failed(begun, reason);
      return 'ended';
    }
  }

  /** Reports the end of a job, unless another process does. */
  async function tryReport({ workspaceId, id }: ExportJobRecord): Promise<void> {
    const lease = await takeLease(redis, id);
    if (lease === undefined) return;
    try {
      const current = await catalog.exportJobs.get(workspaceId, id);
      if (current?.isUnreported === true) await ends.report(current);
    } finally {
      await lease.release();
    }
  }

  async function tryRun(job: ExportJobRecord): Promise<Outcome> {
    const freeSlot = takeSlot(job.workspaceId);
    if (freeSlot === undefined) return 'busy';
    try {
      const lease = await takeLease(redis, job.id);
      if (lease === undefined) return 'busy';
      lastTurn += 1;
      turns.set(job.workspaceId, lastTurn);
      try {
        return await attempt(job, AbortSignal.any([closing.signal, lease.lost]));
      } finally {
        await lease.release();
      }
    } finally {
      freeSlot();
    }
  }

  /** Runs the next job, if any. @returns how long to wait for the next look */
  async function look(): Promise<number> {
    const idsWithFiles = await files.ids();
    const open = await catalog.exportJobs.open();
    await ends.sweep(idsWithFiles, open);
    for (const job of open) if (job.isUnreported) await tryReport(job);
    const turnOf = ({ workspaceId }: ExportJobRecord) => turns.get(workspaceId) ?? 0;
    const waiting = open.filter(isUnfinished).sort((a, b) => turnOf(a) - turnOf(b));
    if (waiting.length === 0) turns.clear();
    for (const job of waiting) {
      if (closing.signal.aborted) return 0;
      const outcome = await tryRun(job);
      if (outcome !== 'busy') return outcome === 'ended' ? 0 : RETRY_MS;
    }
    return waiting.length > 0 ? LEASE_MS : LOOK_EVERY_MS;
  }

  const loop = createLookLoop({
    look,
    onError: (err) => logger.warn({ err }, 'export jobs could not be read or written'),
    retryMs: RETRY_MS,
    closing: closing.signal,
  });
  catalog.subscribe({
    onChange({ records }) {
      if (records.some(({ table }) => table === EXPORT_JOBS_TABLE)) loop.wake();
    },
    onGap() {},
  });

  return {
    start: loop.start,
    async close() {
      closing.abort();
      await loop.ended();
    },
  };
}
