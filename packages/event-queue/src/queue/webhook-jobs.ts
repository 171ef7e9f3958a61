import type { EventTableKind } from '@waymark/event-format';
import type { Replication } from '@waymark/redis';
import type { Redis } from 'ioredis';
import { createJobAdder, type JobAdder, type Transaction } from './job-adder.js';
import { jobKey, queueKey, stateKey, WEBHOOK_QUEUE } from './keys.js';

/** A job of the webhook queue. */
export interface WebhookJob {
  /** Idempotency key: adding the job again while Redis still has it does nothing. */
  readonly id: string;
  /** JSON text. */
  readonly data: string;
  /** Delay before the job is run. */
  readonly delayMs?: number;
}

/** A batch of rows that ClickHouse has inserted. */
export interface InsertedBatch {
  readonly kind: EventTableKind;
  /** The same each time the insert is repeated. */
  readonly batchId: string;
  /** JSON arrays in the order of the insert. */
  readonly rows: readonly string[];
}

/**
 * Returns the webhook jobs for an inserted batch. They are added in the transaction that acknowledges the insert. If the writer
 * is killed before that transaction, the insert is repeated, and with it this call.
 */
export type PlanWebhookJobs = (batch: InsertedBatch) => Promise<readonly WebhookJob[]>;

/** How long a finished job is kept, so that adding it again does nothing. */
const DONE_SECONDS = 900;
const DONE_KEPT_MAX = 5000;
/** In effect no limit: a job fails only because a store is unavailable. A failed delivery is no failed job. */
const ATTEMPTS = 1_000_000_000;
const RETRY_MS = 5000;

/** Adds webhook jobs to a transaction of the adder's connection. */
export async function addWebhookJobs(adder: JobAdder, multi: Transaction, jobs: readonly WebhookJob[]): Promise<void> {
  await Promise.all(
    jobs.map(({ id, data, delayMs = 0 }) =>
      adder.addTo(multi, WEBHOOK_QUEUE, id, data, {
        attempts: ATTEMPTS,
        backoff: { type: 'fixed', delay: RETRY_MS, jitter: 0.5 },
        removeOnComplete: { age: DONE_SECONDS, count: DONE_KEPT_MAX },
        delay: delayMs,
      }),
    ),
  );
}

/** Adds webhook jobs that do not belong to an insert. */
export interface WebhookJobSender {
  /** Resolves when Redis and its replicas have all jobs. Rejects if that is uncertain; a retry under the same ids is safe. */
  send(jobs: readonly WebhookJob[]): Promise<void>;
  /**
   * Like `send`, for jobs that may be sent again long after: does nothing if jobs were sent under the same name in the last thirty days,
   * even if Redis has removed them since. Concurrent calls with one name must have jobs with the same ids.
   */
  sendOnce(name: string, jobs: readonly WebhookJob[]): Promise<void>;
}

/**
 * Marks jobs as sent, if all of them exist: a transaction goes on after a command that fails, so some may not have been added. KEYS: the
 * mark, the jobs. ARGV: TTL of the mark in milliseconds.
 */
const MARK_AS_SENT = `
for index = 2, #KEYS do
  if redis.call('EXISTS', KEYS[index]) == 0 then return 0 end
end
redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])
return 1`;
const SENT_MS = 30 * 24 * 3_600_000;

/**
 * Creates a sender.
 *
 * @param redis the Redis of a queue shard; the connection may be shared
 * @param replication of the same connection
 */
export function createWebhookJobSender(redis: Redis, replication: Replication): WebhookJobSender {
  const adder = createJobAdder(redis);

  async function add(jobs: readonly WebhookJob[]): Promise<void> {
    const multi = await adder.transaction();
    await addWebhookJobs(adder, multi, jobs);
    await adder.run(multi);
  }

  async function addOnce(sent: string, jobs: readonly WebhookJob[]): Promise<void> {
    if ((await redis.exists(sent)) > 0) return;
    const multi = await adder.transaction();
    await addWebhookJobs(adder, multi, jobs);
    const keys = [sent, ...jobs.map(({ id }) => jobKey(WEBHOOK_QUEUE, id))];
    multi.eval(MARK_AS_SENT, keys.length, ...keys, SENT_MS);
    await adder.run(multi);
  }

  return {
    async send(jobs) {
      if (jobs.length > 0) await replication.confirmed(() => add(jobs));
    },

    async sendOnce(name, jobs) {
      if (jobs.length > 0) await replication.confirmed(() => addOnce(stateKey(`webhooks-sent:${name}`), jobs));
    },
  };
}

/** Whether the webhook queue has ever had a job: with each job BullMQ adds an entry to the event stream of the queue. */
export async function hasHadWebhookJobs(redis: Pick<Redis, 'exists'>): Promise<boolean> {
  return (await redis.exists(queueKey(WEBHOOK_QUEUE, 'events'))) > 0;
}
