import type { QueueKind } from '@waymark/event-format';
import { DelayedError, type Job, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import type { DeadLetters } from '../queue/dead-letters.js';
import { type JobData, jobDataSchema, jobProgressSchema } from '../queue/job-rows.js';
import { QUEUE_PREFIX } from '../queue/keys.js';
import { type QueueLogger, throttled } from '../redis/throttled-log.js';
import { createCoalescer, type FlushReason } from './coalescer.js';
import type { WriterJob } from './group-writer.js';

/** Limits of a group, and of how much is under way at once. */
export interface WriterLimits {
  readonly groupRowsMax: number;
  readonly groupBytesMax: number;
  readonly groupDelayMs: number;
  /** Jobs of a kind held at once. */
  readonly jobsMax: number;
  /** Inserts of a kind at once. */
  readonly insertsMax: number;
}

export interface EventWorkerOptions {
  readonly kind: QueueKind;
  readonly redis: Redis;
  readonly limits: WriterLimits;
  readonly knows: (version: number) => boolean;
  readonly write: (jobs: readonly WriterJob[]) => Promise<void>;
  readonly deadLetters: DeadLetters;
  readonly logger: QueueLogger;
  readonly now: () => number;
  /** Told of every error of BullMQ's own calls to Redis. */
  readonly onRedisError: (err: unknown) => void;
}

export interface EventWorker {
  /** Takes no more jobs, writes those it has. */
  close(): Promise<void>;
  isRunning(): boolean;
  /** When it got the job that it has held longest, epoch milliseconds; undefined when it holds none. */
  oldestHeldAt(): number | undefined;
}

/**
 * A lock is renewed every second or two. A writer that was killed holds its jobs for at most the lock and two checks; a writer
 * that was merely slow loses nothing, because whoever takes its jobs over repeats the same insert.
 */
const LOCK_MS = 5000;
const STALLED_CHECK_MS = 2000;
/** A crash is not the job's fault. */
const STALLED_MAX = 1_000_000_000;
const RECONNECT_MS = 500;
/** A job of a version that this writer does not know is looked at that often, until a newer writer takes it. */
const UNKNOWN_VERSION_DELAY_MS = 15_000;
const ERROR_LOG_INTERVAL_MS = 5000;

/** Takes jobs of one kind and completes them when their rows are written. */
export function createEventWorker(options: EventWorkerOptions): EventWorker {
  const { kind, limits, logger, now } = options;
  const warn = throttled((context, message) => logger.warn(context, message), ERROR_LOG_INTERVAL_MS, now);

  const coalescer = createCoalescer<WriterJob>({
    rowsMax: limits.groupRowsMax,
    bytesMax: limits.groupBytesMax,
    delayMs: limits.groupDelayMs,
    jobsMax: limits.jobsMax,
    concurrency: limits.insertsMax,
    async write(jobs, reason: FlushReason) {
      const since = now();
      await options.write(jobs);
      const rows = jobs.reduce((sum, { data }) => sum + data.rows, 0);
      logger.debug({ kind, jobs: jobs.length, rows, reason, elapsedMs: now() - since }, 'group written');
    },
  });

  /** Arrivals of the jobs held, earliest first. */
  const held = new Set<{ readonly at: number }>();

  const waitForNewerWriter = async (job: Job<JobData>, token: string): Promise<never> => {
    warn({ kind, jobId: job.id, version: job.data.v }, 'a job waits for a newer writer');
    await job.moveToDelayed(now() + UNKNOWN_VERSION_DELAY_MS, token);
    throw new DelayedError();
  };

  const process = async (job: Job<JobData>, token = ''): Promise<void> => {
    const jobId = job.id ?? '';
    const parsed = jobDataSchema.safeParse(job.data);
    if (!parsed.success) {
      const row = JSON.stringify(job.data);
      await options.deadLetters.park([
        { kind, version: 0, row, error: 'not the data of a job', at: now(), jobId, index: 0 },
      ]);
      return;
    }
    const { data } = parsed;
    if (!options.knows(data.v)) return waitForNewerWriter(job, token);
    const struck = jobProgressSchema.safeParse(job.progress).data?.struck ?? [];
    const arrival = { at: now() };
    held.add(arrival);
    try {
      const job = { id: jobId, data, struck, receivedAt: arrival.at };
      await coalescer.add(job, { version: data.v, rows: data.rows, bytes: data.size });
    } finally {
      held.delete(arrival);
    }
  };

  const worker = new Worker<JobData>(kind, process, {
    connection: options.redis,
    prefix: QUEUE_PREFIX,
    concurrency: limits.jobsMax,
    lockDuration: LOCK_MS,
    stalledInterval: STALLED_CHECK_MS,
    maxStalledCount: STALLED_MAX,
    runRetryDelay: RECONNECT_MS,
    removeOnComplete: { count: 0 },
  });
  worker.on('error', (err) => {
    options.onRedisError(err);
    warn({ err, kind }, 'worker');
  });
  worker.on('stalled', (jobId) => warn({ kind, jobId }, 'a job of a dead or slow writer is taken over'));

  return {
    async close() {
      const closing = worker.close();
      await coalescer.close();
      await closing;
    },
    isRunning: () => worker.isRunning(),
    oldestHeldAt: () => held.values().next().value?.at,
  };
}
