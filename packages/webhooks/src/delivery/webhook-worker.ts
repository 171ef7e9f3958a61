import { withTimeout } from '@waymark/cache';
import type { Catalog } from '@waymark/catalog';
import type { ClickHouseClient } from '@waymark/clickhouse';
import {
  createWebhookJobSender,
  QUEUE_PREFIX,
  type QueueLogger,
  WEBHOOK_QUEUE,
  WORKER_SILENCE_MS_MAX,
} from '@waymark/event-queue';
import type { Outbound } from '@waymark/outbound';
import { DelayedError, type Job, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { createEventBodies } from '../events/event-bodies.js';
import { createTurns } from './concurrency-limit.js';
import { createDeliveryLog } from './delivery-log.js';
import { createDeliverer } from './delivery-worker.js';
import { createFailureCounts } from './failure-counts.js';
import { readJobData } from './webhook-job.js';

export interface WebhookWorkerOptions {
  readonly redisUrl: string;
  readonly clickhouse: ClickHouseClient;
  readonly catalog: Catalog;
  /** How webhooks are reached. */
  readonly outbound: Outbound;
  readonly logger: QueueLogger;
  readonly now?: () => number;
  /** How long a receiver may take; ten seconds unless given. */
  readonly timeoutMs?: number;
  /** Attempts under way when a stop is asked for get so long. */
  readonly closeMs?: number;
}

/** Delivers what is in the webhook queue. Several may run. */
export interface WebhookWorker {
  /** Begins no further attempt; what is left goes back into the queue. */
  close(): Promise<void>;
}

const JOBS_MAX = 32;
/** A killed worker's jobs are taken over after at most the lock and two checks. */
const LOCK_MS = 10_000;
const STALLED_CHECK_MS = 5_000;
const STALLED_MAX = 1_000_000_000;
const RECONNECT_MS = 500;
const CLOSE_MS = 5_000;
/** Made by a newer version, which will take it. */
const NOT_UNDERSTOOD_MS = 15_000;

export function createWebhookWorker(options: WebhookWorkerOptions): WebhookWorker {
  const { catalog, clickhouse, outbound, logger, now = Date.now, timeoutMs } = options;
  const redis = new Redis(options.redisUrl, {
    maxRetriesPerRequest: null,
    socketTimeout: WORKER_SILENCE_MS_MAX,
    retryStrategy: (times) => Math.min(25 * times, RECONNECT_MS),
  });
  redis.on('error', (err: Error) => logger.debug({ err }, 'redis connection of webhooks'));
  let isClosing = false;
  const log = createDeliveryLog(clickhouse);
  const turns = createTurns();
  const deliver = createDeliverer({
    catalog,
    outbound,
    bodies: createEventBodies({ catalog, clickhouse }),
    log,
    failures: createFailureCounts(redis),
    sender: createWebhookJobSender(redis),
    logger,
    now,
    isClosing: () => isClosing,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });

  const postpone = async (job: Job, token: string, delayMs: number): Promise<never> => {
    await job.moveToDelayed(now() + delayMs, token);
    throw new DelayedError();
  };

  const process = async (job: Job<unknown>, token = ''): Promise<void> => {
    const data = readJobData(job.data);
    if (data === undefined) {
      logger.error({ jobId: job.id }, 'a webhook job waits for a writer that understands it');
      return postpone(job, token, NOT_UNDERSTOOD_MS);
    }
    const waitMs = turns.enter(data.webhookId);
    if (waitMs > 0) return postpone(job, token, waitMs);
    try {
      await deliver(data, job.id ?? '');
    } finally {
      turns.leave(data.webhookId);
    }
  };

  const worker = new Worker<unknown>(WEBHOOK_QUEUE, process, {
    connection: redis,
    prefix: QUEUE_PREFIX,
    concurrency: JOBS_MAX,
    lockDuration: LOCK_MS,
    stalledInterval: STALLED_CHECK_MS,
    maxStalledCount: STALLED_MAX,
    runRetryDelay: RECONNECT_MS,
  });
  worker.on('error', (err) => logger.warn({ err }, 'webhook worker'));
  worker.on('failed', (job, err) => logger.warn({ err, jobId: job?.id }, 'webhooks are tried again later'));

  return {
    async close() {
      isClosing = true;
      await withTimeout(worker.close(), options.closeMs ?? CLOSE_MS, () => undefined);
      // Jobs that are not over are taken over by others when their locks expire.
      await worker.close(true);
      await log.close();
      redis.disconnect();
    },
  };
}
