import type { QueueKind } from '@waymark/event-format';
import type { EventProducer } from '@waymark/event-queue';
import { orUnavailable, unavailable } from '../unavailable.js';

/** Tells whether the queue holds events from so long ago that Redis no longer remembers what they claimed. */
export interface Backlog {
  /**
   * Call before ClickHouse is believed when it says that something does not exist.
   *
   * @param ageMs how long Redis remembers what is asked for
   * @throws ApiError 500 with `Retry-After` when the queue is further behind than that
   */
  check(kind: QueueKind, ageMs: number): Promise<void>;
}

/** A backlog of hours does not come or go within seconds. */
const BELIEVED_MS = 5000;
/** What is nearly forgotten counts as forgotten. */
const MARGIN_MS = 600_000;

export function createBacklog(producer: Pick<EventProducer, 'oldestQueuedMs'>, now: () => number): Backlog {
  const known = new Map<QueueKind, { readonly oldest: Promise<number | undefined>; readonly atMs: number }>();
  return {
    async check(kind, ageMs) {
      let entry = known.get(kind);
      if (entry === undefined || now() - entry.atMs > BELIEVED_MS) {
        entry = { oldest: producer.oldestQueuedMs(kind), atMs: now() };
        entry.oldest.catch(() => known.delete(kind));
        known.set(kind, entry);
      }
      const oldest = await orUnavailable('age of the queue', entry.oldest);
      if (oldest !== undefined && oldest < now() - ageMs + MARGIN_MS)
        throw unavailable(`${kind} queue is hours behind`);
    },
  };
}
