import { withTimeout } from '@waymark/cache';
import type { Catalog } from '@waymark/catalog';
import type { ClickHouseClient } from '@waymark/clickhouse';
import {
  createWebhookJobSender,
  QUEUE_PREFIX,
  type QueueLogger,
  WEBHOOK_QUEUE,
  WORKER_SILENCE_MS_MAX,
  watchLongLocks,
  withoutStackTraces,
} from '@waymark/event-queue';
import type { Outbound } from '@waymark/outbound';
import { connectRedis, createReplication } from '@waymark/redis';
import { DelayedError, type Job, Worker } from 'bullmq';
import { createEventBodies } from '../events/event-bodies.js';
import { createConcurrencyLimit, SLOTS } from './concurrency-limit.js';
import { createDeliverJob } from './deliver-job.js';
import { createDeliveryLog } from './delivery-log.js';
import { createFailureCounts } from './failure-counts.js';
import { CONFIRMING_MAX, createFollowUpSender } from './follow-up-jobs.js';
import { removeEvents } from './job-data.js';
import { createWaitingBodies, createWaitingIds } from './waiting-jobs.js';
import { readJobData, type WebhookJobData } from './webhook-job.js';

/** Options of {@link createWebhookWorker}. */
export interface WebhookWorkerOptions {
  /** The Redis of the queue shard. */
  readonly redisUrl: string;
  /** How many replicas of Redis must have the jobs that replace another one before that one is completed; 0 by default. */
  readonly waitReplicas?: number;
  readonly clickhouse: ClickHouseClient;
  /** Name of the ClickHouse cluster that stores the events; undefined for a single node. */
  readonly cluster?: string | undefined;
  readonly catalog: Catalog;
  /** Sends the requests. */
  readonly outbound: Outbound;
  readonly logger: QueueLogger;
  /** Epoch milliseconds. */
  readonly now?: () => number;
  /** Timeout of an attempt, in milliseconds; ten seconds by default. */
  readonly timeoutMs?: number;
  /** How long `close` waits for attempts in progress, and for Redis, in milliseconds; five seconds by default. */
  readonly closeMs?: number;
}

/** Delivers the jobs of the webhook queue of one queue shard. Several workers may run. */
export interface WebhookWorker {
  /**
   * Starts no further attempt; remaining events return to the queue. Attempts that take longer than `closeMs` go on until `outbound` is
   * closed. Close it after this: they are repeated by another worker, and are neither counted nor logged.
   */
  close(): Promise<void>;
}

/** More than the slots, so that jobs without a slot are postponed, and deliveries logged, while every slot is taken. */
const JOBS_MAX = SLOTS + 16;
/** Other workers take over the jobs of a killed worker after at most the lock and two checks. */
const LOCK_MS = 10_000;
const STALLED_CHECK_MS = 5_000;
/** In effect no limit: BullMQ would fail a job whose workers were killed more often, although the job is not the cause. */
const STALLED_MAX = 1_000_000_000;
const RECONNECT_MS = 500;
const CLOSE_MS = 5_000;
/** How long `close` waits for the log of attempts, as a share of the time for the attempts, and at most. */
const [LOG_CLOSE_SHARE, LOG_CLOSE_MS_MAX] = [0.2, 1_000];
/** Delay before a job that only a newer version supports is tried again. */
const UNSUPPORTED_JOB_DELAY_MS = 15_000;

/** Starts a worker. */
export function createWebhookWorker(options: WebhookWorkerOptions): WebhookWorker {
  const { catalog, clickhouse, cluster, outbound, logger, now = Date.now, timeoutMs, waitReplicas = 0 } = options;
  const { closeMs = CLOSE_MS } = options;
  const connect = () => {
    const connection = connectRedis(options.redisUrl, {
      maxRetriesPerRequest: null,
      socketTimeout: WORKER_SILENCE_MS_MAX,
      retryStrategy: (times) => Math.min(25 * times, RECONNECT_MS),
    });
    connection.on('error', (err: Error) => logger.debug({ err }, 'redis connection of webhooks'));
    return connection;
  };
  const redis = connect();
  // Waiting for replicas blocks a connection, on which locks could not be renewed meanwhile.
  const confirming = waitReplicas === 0 ? redis : connect();
  let isClosing = false;
  const log = createDeliveryLog(clickhouse);
  const waiting = createWaitingBodies(redis);
  const waitingIds = createWaitingIds(redis);
  const concurrencyLimit = createConcurrencyLimit(() => performance.now());
  const sender = createFollowUpSender(
    createWebhookJobSender(confirming, createReplication(confirming, waitReplicas)),
    () => isClosing,
  );
  const deliver = createDeliverJob({
    catalog,
    outbound,
    bodies: createEventBodies({ catalog, clickhouse, cluster }),
    log,
    failures: createFailureCounts(redis),
    sender,
    waiting,
    waitingIds,
    logger,
    now,
    isClosing: () => isClosing,
    timeoutMs,
  });

  const postpone = async (job: Job, token: string, delayMs: number): Promise<never> => {
    await job.moveToDelayed(now() + delayMs, token);
    throw new DelayedError();
  };

  /** Removes a job that has nothing left to do from the bytes that wait, and its bodies. */
  const removeWaiting = async (jobId: string, data: WebhookJobData): Promise<void> => {
    const { eventIds, events, workspaceId } = data;
    // A job without ids and without bodies had bodies, which an erasure has removed.
    if (eventIds.length > 0 && events.length === 0) return waitingIds.remove(workspaceId, jobId);
    await removeEvents(redis, jobId, data);
    await waiting.remove(workspaceId, jobId);
  };

  const processJob = async (job: Job<unknown>, token = ''): Promise<void> => {
    withoutStackTraces(job);
    const data = readJobData(job.data);
    if (data === undefined) {
      logger.error({ jobId: job.id }, 'a webhook job is not supported by this version');
      return postpone(job, token, UNSUPPORTED_JOB_DELAY_MS);
    }
    const waitMs = concurrencyLimit.tryEnter(data, !sender.isFull(data.webhookId));
    if (waitMs > 0) return postpone(job, token, waitMs);
    const startedMs = performance.now();
    let isSending = true;
    const onSent = () => {
      if (isSending) concurrencyLimit.leave(data, performance.now() - startedMs);
      isSending = false;
    };
    try {
      await deliver(data, job.id ?? '', onSent);
      // If this fails, the bodies stay until Redis removes the job, and it counts until the next search for ended jobs. Running it again would
      // deliver its events twice.
      await removeWaiting(job.id ?? '', data).catch((err: unknown) => {
        logger.debug({ err, jobId: job.id }, 'a finished job could not be removed from what waits');
      });
    } finally {
      onSent();
    }
  };

  const worker = new Worker<unknown>(WEBHOOK_QUEUE, processJob, {
    connection: redis,
    prefix: QUEUE_PREFIX,
    concurrency: waitReplicas === 0 ? JOBS_MAX : JOBS_MAX + CONFIRMING_MAX,
    lockDuration: LOCK_MS,
    stalledInterval: STALLED_CHECK_MS,
    maxStalledCount: STALLED_MAX,
    runRetryDelay: RECONNECT_MS,
  });
  const longLocks = watchLongLocks({
    redis,
    queue: WEBHOOK_QUEUE,
    lockMs: LOCK_MS,
    stalledCheckMs: STALLED_CHECK_MS,
    logger,
  });
  worker.on('error', (err) => logger.warn({ err }, 'webhook worker'));
  worker.on('failed', (job, err) => logger.warn({ err, jobId: job?.id }, 'a webhook job failed and will be retried'));

  return {
    async close() {
      isClosing = true;
      longLocks.close();
      await withTimeout(worker.close(), closeMs, () => undefined);
      // Attempts that go on can no longer be counted, nor their jobs end: other workers take these over when their locks expire.
      redis.disconnect();
      confirming.disconnect();
      await withTimeout(log.close(), Math.min(LOG_CLOSE_MS_MAX, closeMs * LOG_CLOSE_SHARE), () => undefined);
    },
  };
}
