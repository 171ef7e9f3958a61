import type { EventTableKind } from '@waymark/event-format';
import type { Redis } from 'ioredis';
import { createJobAdder, type JobAdder, type Transaction } from './job-adder.js';
import { WEBHOOK_QUEUE } from './keys.js';

/** A job of the webhook queue. */
export interface WebhookJob {
  /** Belongs to one content: adding it again while Redis keeps it does nothing. */
  readonly id: string;
  /** JSON text. */
  readonly data: string;
  /** Not before so long from now. */
  readonly delayMs?: number;
}

/** Rows of one insert, in ClickHouse by now. */
export interface WrittenGroup {
  readonly kind: EventTableKind;
  /** The same whenever the group is repeated. */
  readonly groupId: string;
  /** JSON arrays in the order of the insert. */
  readonly rows: readonly string[];
}

/**
 * Says which webhook jobs follow an insert. They are added in the same transaction that notes the insert as done: whoever is
 * killed before makes them again with the repeat of the group, whoever is killed after has made them.
 */
export type WebhookJobsOf = (group: WrittenGroup) => Promise<readonly WebhookJob[]>;

/** A finished job is kept that long, for repeats under its id. */
const DONE_SECONDS = 900;
const DONE_KEPT_MAX = 5000;
/** What fails for want of a store is tried until it works; attempts to deliver are counted elsewhere. */
const ATTEMPTS = 1_000_000_000;
const RETRY_MS = 5000;

/** Puts webhook jobs into a transaction of the adder's connection. */
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

/** Adds webhook jobs that follow no insert. */
export interface WebhookJobSender {
  /** Resolves when Redis has them all. Not knowing is an error; to send them again under the same ids is safe. */
  send(jobs: readonly WebhookJob[]): Promise<void>;
}

/** A sender over a connection that others may use as well. */
export function createWebhookJobSender(redis: Redis): WebhookJobSender {
  const adder = createJobAdder(redis);
  return {
    async send(jobs) {
      if (jobs.length === 0) return;
      const multi = await adder.transaction();
      await addWebhookJobs(adder, multi, jobs);
      await adder.run(multi);
    },
  };
}
