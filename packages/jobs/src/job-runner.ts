import { setTimeout as delay } from 'node:timers/promises';
import { type Catalog, isUnfinished } from '@waymark/catalog';
import { hasElapsed } from '@waymark/contract';
import type { Logger } from '@waymark/http-kit';
import { LEASE_MS, takeLease } from '@waymark/redis';
import type { Redis } from 'ioredis';
import { failureOf, isInterruption, JobStopped } from './job-error.js';
import { createJobSlots, type JobSlot } from './job-slots.js';
import { createTurns } from './turns.js';
import { createWorkLoop } from './work-loop.js';

/** The fields of a job's record that the runner reads. */
export interface JobRecord {
  readonly id: string;
  readonly workspaceId: string;
  readonly status: string;
  /** Number of the latest attempt, from 1 on; 0 before the first. */
  readonly attempt: number;
  /**
   * Number of attempts that do not count: they ended because a store was away, reads were refused, or the process stopped or lost its lease,
   * or they ended after they had made progress.
   */
  readonly interruptions: number;
  readonly createdAt: string;
  /** When its first attempt began; null before that. */
  readonly startedAt: string | null;
  /** Whether the end of the job has not been sent to webhooks yet. */
  readonly isUnreported: boolean;
}

export interface JobRunnerDeps<R extends JobRecord> {
  readonly redis: Redis;
  readonly logger: Pick<Logger, 'warn'>;
  readonly subscribe: Catalog['subscribe'];
  readonly now: () => number;
  /** The kind of job, such as `export`. It is part of the keys of the leases, and of log lines. */
  readonly what: string;
  /** The table of the jobs' records. A change in it wakes the runner. */
  readonly table: string;
  readonly get: (workspaceId: string, id: string) => Promise<R | undefined>;
  /** Reads the open jobs of all workspaces, which have not ended or are unreported, oldest first. It may return other jobs too. */
  readonly listOpen: () => Promise<readonly JobRecord[]>;
  /** Records that the next attempt begins, unless the job has ended. @returns the record after that */
  readonly begin: (job: JobRecord) => Promise<R>;
  /** Records that an attempt has ended for a reason other than the job. */
  readonly interrupted: (job: R) => Promise<unknown>;
  /** Takes a slot of the workspace. @returns the function that frees it; undefined when all its slots are taken */
  readonly takeSlot: (workspaceId: string) => (() => void) | undefined;
  /**
   * Runs the job to its end, and records the end.
   *
   * @param onProgress call it when the next attempt would continue after the place where this one has begun
   * @throws JobStopped; JobFailure; the reason of `signal`
   */
  readonly run: (job: R, signal: AbortSignal, slot: Pick<JobSlot, 'lend'>, onProgress: () => void) => Promise<void>;
  /** Records that the job cannot be completed. */
  readonly fail: (job: R, reason: string) => Promise<void>;
  /** Sends the end of the job to webhooks. */
  readonly report: (job: R) => Promise<void>;
  /** Jobs that this process runs at the same time, besides those that have lent their slots. */
  readonly jobsMax: number;
  /** A job whose first attempt began longer ago than this fails. The time before that, in which it waits for others, does not count. */
  readonly ageMsMax: number;
}

/** Runs the jobs of all workspaces, each under a lease; workspaces take turns. */
export interface JobRunner {
  start(): void;
  /** Stops the jobs at their next step. Another process, or the next start, continues them. */
  close(): Promise<void>;
}

const DAY_MS = 24 * 3_600_000;
/** Interval of polls, for jobs whose change did not reach this process, and for expired files. */
const POLL_INTERVAL_MS = 60_000;
/** Delay of the next attempt after a temporary error; it grows by this much with each interruption. */
const RETRY_MS = 5_000;
const RETRY_MS_MAX = 60_000;
/**
 * A job that was begun this often without coming to an end fails: the job may be what ends its processes. Attempts
 * that a killed process has begun count. Attempts that ended because a store was away, reads were refused, the process stopped or the lease
 * was lost do not count, nor do those whose error came after the job had made progress; `ageMsMax` bounds them.
 */
const ATTEMPTS_MAX = 20;
/** How long a stopped process waits until the interruption of its attempt is recorded. */
const RECORD_MS_MAX = 2_000;
/** Limit on the jobs of a process for each slot, because a job that has lent its slot takes memory too. */
const JOBS_PER_SLOT = 16;

const daysText = (milliseconds: number) => (milliseconds === DAY_MS ? 'a day' : `${milliseconds / DAY_MS} days`);

/** Creates a runner; `start` starts it. */
export function createJobRunner<R extends JobRecord>(deps: JobRunnerDeps<R>): JobRunner {
  const { redis, logger, now, what, jobsMax } = deps;
  /** The turns of workspaces: the order in which their jobs are started. */
  const turns = createTurns();
  /** When jobs were interrupted, and how long they wait after that, by id. */
  const interrupted = new Map<string, { readonly atMs: number; readonly waitMs: number }>();
  const slots = createJobSlots(jobsMax, () => loop.wake());
  const hasRoom = () => slots.hasFree() && loop.running.size < jobsMax * JOBS_PER_SLOT;

  const mayStart = ({ id }: JobRecord): boolean => {
    const { atMs, waitMs } = interrupted.get(id) ?? { atMs: 0, waitMs: 0 };
    return hasElapsed(atMs, waitMs, now());
  };

  const leaseOf = ({ id }: JobRecord) => takeLease(redis, `${what}-job:${id}`);

  /** Records that an attempt was interrupted. If the store of the records is away, too, the attempt counts. */
  async function recordInterruption(job: R): Promise<void> {
    const recorded = deps.interrupted(job).catch(() => undefined);
    await Promise.race([recorded, delay(RECORD_MS_MAX, undefined, { ref: false })]);
  }

  /** Why a job is not tried again; undefined if it is. */
  function reasonToGiveUp({ attempt, interruptions, startedAt, createdAt }: R): string | undefined {
    if (now() - Date.parse(startedAt ?? createdAt) > deps.ageMsMax) {
      return `The ${what} did not end within ${daysText(deps.ageMsMax)}.`;
    }
    if (attempt - interruptions <= ATTEMPTS_MAX) return undefined;
    return `The ${what} was tried ${ATTEMPTS_MAX} times, and an error or the end of the server's process stopped each attempt.`;
  }

  async function attempt(job: JobRecord, signal: AbortSignal, slot: JobSlot): Promise<void> {
    const begun = await deps.begin(job);
    if (!isUnfinished(begun)) return;
    let hasProgressed = false;
    const onProgress = () => {
      hasProgressed = true;
    };
    try {
      const reason = reasonToGiveUp(begun);
      if (reason === undefined) await deps.run(begun, signal, slot, onProgress);
      else await deps.fail(begun, reason);
    } catch (err) {
      if (err instanceof JobStopped || signal.aborted) return recordInterruption(begun);
      const reason = failureOf(err);
      const current = await deps.get(job.workspaceId, job.id);
      // The error may be due to a cancellation, which removes the files of the job while they are in use.
      if (current === undefined || !isUnfinished(current)) return;
      if (reason === undefined) {
        if (hasProgressed || isInterruption(err)) await recordInterruption(begun);
        throw err;
      }
      await deps.fail(begun, reason);
    }
  }

  /** Reports the end of a job, unless another process does. */
  async function tryReport(job: JobRecord): Promise<void> {
    const lease = await leaseOf(job);
    await lease?.during(async () => {
      const current = await deps.get(job.workspaceId, job.id);
      if (current?.isUnreported === true) await deps.report(current);
    });
  }

  /** Runs a job in the background, unless its workspace has no slot left or another process runs it. */
  async function tryStart(job: JobRecord): Promise<void> {
    const { id, workspaceId } = job;
    const releaseWorkspaceSlot = deps.takeSlot(workspaceId);
    if (releaseWorkspaceSlot === undefined) return;
    const lease = await leaseOf(job).catch((err: unknown) => {
      releaseWorkspaceSlot();
      throw err;
    });
    if (lease === undefined) return releaseWorkspaceSlot();
    // Meanwhile a job that had lent its slot may have taken the last one back.
    if (!slots.hasFree()) return lease.during(async () => releaseWorkspaceSlot());
    turns.take(workspaceId);
    const processSlot = slots.take();
    const work = async (lost: AbortSignal): Promise<void> => {
      try {
        await attempt(job, AbortSignal.any([loop.closing, lost]), processSlot);
        interrupted.delete(id);
      } catch (err) {
        interrupted.set(id, { atMs: now(), waitMs: Math.min(RETRY_MS * (1 + job.interruptions), RETRY_MS_MAX) });
        if (!loop.closing.aborted) {
          logger.warn({ err, jobId: id, workspaceId }, `an ${what} was interrupted; it continues`);
        }
      }
    };
    loop.run(id, () =>
      lease.during(work).finally(() => {
        releaseWorkspaceSlot();
        processSlot.release();
      }),
    );
  }

  /** Reports the ends of jobs. @returns whether all are reported; those that are not are tried at the next poll */
  async function reportEnds(jobs: readonly JobRecord[]): Promise<boolean> {
    let areReported = true;
    for (const job of jobs) {
      if (!job.isUnreported) continue;
      await tryReport(job).catch((err: unknown) => {
        areReported = false;
        const { id: jobId, workspaceId } = job;
        logger.warn({ err, jobId, workspaceId }, `the end of an ${what} could not be reported yet`);
      });
    }
    return areReported;
  }

  /** Starts as many jobs as may run. @returns milliseconds until the next poll */
  async function poll(): Promise<number> {
    const open = await deps.listOpen();
    const areReported = await reportEnds(open);
    const turnOf = ({ workspaceId }: JobRecord) => turns.last(workspaceId);
    const waiting = open
      .filter((job) => isUnfinished(job) && !loop.running.has(job.id))
      .sort((one, other) => turnOf(one) - turnOf(other));
    if (waiting.length === 0 && loop.running.size === 0) {
      turns.clear();
      interrupted.clear();
    }
    for (const job of waiting) {
      if (loop.closing.aborted || !hasRoom()) break;
      if (mayStart(job)) await tryStart(job);
    }
    const isWaiting = hasRoom() && waiting.some(({ id }) => !loop.running.has(id));
    if (isWaiting) return LEASE_MS;
    return areReported ? POLL_INTERVAL_MS : RETRY_MS;
  }

  /** Keys of `running` are ids of jobs. */
  const loop = createWorkLoop({
    poll: () => poll().finally(slots.settle),
    onError: (err) => logger.warn({ err }, `${what} jobs could not be read or written`),
    retryMs: RETRY_MS,
    subscribe: deps.subscribe,
    table: deps.table,
  });
  return { start: loop.start, close: loop.close };
}
