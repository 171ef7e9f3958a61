import { createTrackedCache } from '@waymark/cache';
import { QUEUE_TABLES, type QueueKind } from '@waymark/event-format';
import type { EventProducer } from '@waymark/event-queue';
import { notRecorded, orNotRecorded } from '../not-recorded.js';

/** Detects that the queue is so far behind that claims of queued events may have expired. */
export interface Backlog {
  /**
   * Call it before concluding from ClickHouse that an event or a customer does not exist.
   *
   * @param ageMs TTL of the relevant claims in Redis
   * @throws ApiError 500 with `Retry-After` when the queue is further behind than that TTL
   */
  check(kind: QueueKind, ageMs: number): Promise<void>;
}

/** TTL of the cached age of the oldest event; a backlog of hours does not change within seconds. */
const TTL_MS = 5000;
/** A claim that expires within this time counts as expired. */
const MARGIN_MS = 600_000;

/** Creates the checks for one queue shard. @param now epoch milliseconds */
export function createBacklog(producer: Pick<EventProducer, 'oldestQueuedMs'>, now: () => number): Backlog {
  const oldestByKind = createTrackedCache<number | undefined>({
    bound: { entriesMax: Object.keys(QUEUE_TABLES).length },
    ttlMs: TTL_MS,
    now,
  });
  return {
    async check(kind, ageMs) {
      const loading = oldestByKind.load(kind, () => producer.oldestQueuedMs(kind));
      const oldest = await orNotRecorded('age of the queue', loading);
      if (oldest !== undefined && oldest < now() - ageMs + MARGIN_MS)
        throw notRecorded(`${kind} queue is hours behind`);
    },
  };
}
