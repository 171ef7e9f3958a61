import type { QueueKind } from '@waymark/event-format';
import { DelayedError, type Job, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import type { DeadLetters } from '../queue/dead-letters.js';
import { type JobData, jobDataSchema, jobProgressSchema } from '../queue/job-rows.js';
import { QUEUE_PREFIX } from '../queue/keys.js';
import { watchLongLocks } from '../queue/long-locks.js';
import { withoutStackTraces } from '../queue/without-stack-traces.js';
import { type QueueLogger, throttled } from '../redis/throttled-log.js';
import type { WriterJob } from './batch-writer.js';
import { createCoalescer, type FlushReason } from './coalescer.js';

/** Limits on insert batches, and on concurrent jobs and inserts. */
export interface WriterLimits {
  readonly batchRowsMax: number;
  readonly batchBytesMax: number;
  readonly batchDelayMs: number;
  /** Active jobs per kind. */
  readonly jobsMax: number;
  /** Concurrent inserts per kind. */
  readonly insertsMax: number;
}

export interface QueueWorkerOptions {
  readonly kind: QueueKind;
  readonly redis: Redis;
  readonly limits: WriterLimits;
  readonly supports: (version: number) => boolean;
  readonly write: (jobs: readonly WriterJob[]) => Promise<void>;
  readonly deadLetters: DeadLetters;
  readonly logger: QueueLogger;
  readonly now: () => number;
  /** Called with every error of BullMQ's calls to Redis. */
  readonly onRedisError: (err: unknown) => void;
}

/** The worker of one kind of job. */
export interface QueueWorker {
  /** Stops taking jobs, and writes those that it holds. */
  close(): Promise<void>;
  isRunning(): boolean;
  /** When it took the oldest job that it holds, epoch milliseconds; undefined if it holds none. */
  oldestHeldMs(): number | undefined;
}

/**
 * TTL of the lock of an active job, which BullMQ renews about every two seconds. The jobs of a killed writer are taken over after at most
 * the TTL and two checks. If a writer was only slow, nothing is written twice, because the other writer repeats the same insert.
 */
const LOCK_MS = 5000;
const STALLED_CHECK_MS = 2000;
/** In effect no limit: BullMQ fails a job whose writers died this often, but a job never causes the death of its writer. */
const STALLED_MAX = 1_000_000_000;
const RECONNECT_MS = 500;
/** How long the connection waits for a job with one blocking command. BullMQ closes a connection that is silent for a second longer. */
const BLOCK_SECONDS = 10;
/** Delay between tries of a job whose version this writer does not support, until a newer writer takes it. */
const UNKNOWN_VERSION_DELAY_MS = 15_000;
const ERROR_LOG_INTERVAL_MS = 5000;

/** Takes jobs of one kind, gathers them into batches, and completes them when their rows are written. */
export function createQueueWorker(options: QueueWorkerOptions): QueueWorker {
  const { kind, limits, logger, now } = options;
  const warn = throttled((context, message) => logger.warn(context, message), ERROR_LOG_INTERVAL_MS);

  const coalescer = createCoalescer<WriterJob>({
    rowsMax: limits.batchRowsMax,
    bytesMax: limits.batchBytesMax,
    delayMs: limits.batchDelayMs,
    jobsMax: limits.jobsMax,
    concurrency: limits.insertsMax,
    async write(jobs, reason: FlushReason) {
      const since = now();
      await options.write(jobs);
      const rows = jobs.reduce((sum, { data }) => sum + data.rows, 0);
      logger.debug({ kind, jobs: jobs.length, rows, reason, elapsedMs: now() - since }, 'batch written');
    },
  });

  /** Arrival times of the jobs held, earliest first. */
  const held = new Set<{ readonly at: number }>();

  const waitForNewerWriter = async (job: Job<JobData>, token: string): Promise<never> => {
    warn({ kind, jobId: job.id, version: job.data.v }, 'a job waits for a newer writer');
    await job.moveToDelayed(now() + UNKNOWN_VERSION_DELAY_MS, token);
    throw new DelayedError();
  };

  const process = async (job: Job<JobData>, token = ''): Promise<void> => {
    withoutStackTraces(job);
    const jobId = job.id ?? '';
    const parsed = jobDataSchema.safeParse(job.data);
    if (!parsed.success) {
      const row = JSON.stringify(job.data);
      await options.deadLetters.park([
        { kind, version: 0, row, error: 'invalid job data', at: now(), jobId, index: 0 },
      ]);
      return;
    }
    const { data } = parsed;
    if (!options.supports(data.v)) return waitForNewerWriter(job, token);
    const discarded = jobProgressSchema.safeParse(job.progress).data?.struck ?? [];
    const arrival = { at: now() };
    held.add(arrival);
    try {
      const isRedelivered = job.attemptsStarted > 1;
      const taken = { id: jobId, data, discarded, isRedelivered, addedMs: job.timestamp, receivedMs: arrival.at };
      await coalescer.add(taken, { version: data.v, rows: data.rows, bytes: data.size });
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
    drainDelay: BLOCK_SECONDS,
    removeOnComplete: { count: 0 },
  });
  const longLocks = watchLongLocks({
    redis: options.redis,
    queue: kind,
    lockMs: LOCK_MS,
    stalledCheckMs: STALLED_CHECK_MS,
    logger,
  });
  worker.on('error', (err) => {
    options.onRedisError(err);
    warn({ err, kind }, 'worker');
  });
  worker.on('stalled', (jobId) => warn({ kind, jobId }, 'taking over a job of a dead or slow writer'));

  return {
    async close() {
      longLocks.close();
      const closing = worker.close();
      await coalescer.close();
      await closing;
    },
    isRunning: () => worker.isRunning(),
    oldestHeldMs: () => held.values().next().value?.at,
  };
}
