import { withTimeout } from '@waymark/cache';
import { WEBHOOKS_MAX } from '@waymark/catalog';
import type { EventTableKind } from '@waymark/event-format';
import { memoryShare, type QueueLogger, throttled, type WebhookJob } from '@waymark/event-queue';
import type { Redis } from 'ioredis';
import { createWaitingIds } from '../delivery/waiting-jobs.js';

/** A job of the events of an insert. */
export interface PlannedJob extends WebhookJob {
  /** Number of its events. */
  readonly deliveries: number;
}

/**
 * Protects the Redis that all workspaces share, as a last resort, from the jobs of one whose webhooks are slow. While Redis uses more than
 * 65 % of its memory limit, and the jobs of a workspace that name their events by ids have 32 MB or more, those of its clicks are not queued for
 * webhooks that have 320 kB or more of them; leads and sales from twice as much on. A webhook is not disabled by this. Without a memory
 * limit, all are queued.
 */
export interface EventJobLimit {
  /**
   * Counts jobs of one workspace that are about to be queued. It never rejects, and waits a second at most: while Redis does not answer,
   * all jobs are to be queued; while it is full, all but those of a workspace that has reached its bound.
   *
   * @returns those to queue. The others are logged and reported
   */
  admit(kind: EventTableKind, workspaceId: string, jobs: readonly PlannedJob[]): Promise<readonly WebhookJob[]>;
}

/** Dependencies of {@link createEventJobLimit}. */
export interface EventJobLimitDeps {
  /** The Redis of the queue shard; the connection may be shared. */
  readonly redis: Redis;
  /** Called with the number of deliveries that are not queued. */
  readonly onDropped: (kind: EventTableKind, deliveries: number) => void;
  readonly logger: Pick<QueueLogger, 'debug' | 'error'>;
}

/** Above the share from which caches store nothing more (60 %), and below that from which `/track` is refused (70 %). */
const MEMORY_SHARE_MAX = 0.65;
const MEMORY_READ_EVERY_MS = 1_000;
const ANSWER_MS_MAX = 1_000;
const LOG_INTERVAL_MS = 10_000;
const CLICK_BYTES_MAX = 32_000_000;
const BYTES_MAX: Readonly<Record<EventTableKind, number>> = {
  click: CLICK_BYTES_MAX,
  lead: 2 * CLICK_BYTES_MAX,
  sale: 2 * CLICK_BYTES_MAX,
};

/** Returns a function that reads the used share of the memory limit, at most once a second; 0 if it cannot be read. */
function createMemoryReader(redis: Redis): () => Promise<number> {
  let share = Promise.resolve(0);
  let readMs = Number.NEGATIVE_INFINITY;
  return () => {
    if (performance.now() - readMs >= MEMORY_READ_EVERY_MS) {
      readMs = performance.now();
      share = redis.info('memory').then(memoryShare, () => 0);
    }
    return share;
  };
}

/** Creates the limit of a queue shard. */
export function createEventJobLimit({ redis, onDropped, logger }: EventJobLimitDeps): EventJobLimit {
  const waiting = createWaitingIds(redis);
  const readMemory = createMemoryReader(redis);
  const logDropped = throttled((context, message) => logger.error(context, message), LOG_INTERVAL_MS);

  /** @returns the ids of the jobs that must not be queued, which are not counted */
  async function countAndRefuse(kind: EventTableKind, workspaceId: string, jobs: readonly PlannedJob[]) {
    const isScarce = (await readMemory()) > MEMORY_SHARE_MAX;
    const max = BYTES_MAX[kind];
    // Webhooks below their share lose nothing: together they add less than the bound to what waits.
    return waiting.add(workspaceId, jobs, isScarce ? { ofWorkspace: max, ofWebhook: max / WEBHOOKS_MAX } : undefined);
  }

  return {
    async admit(kind, workspaceId, jobs) {
      const refusedIds = countAndRefuse(kind, workspaceId, jobs).catch((err: unknown) => {
        logger.debug({ err, workspaceId }, 'the webhook jobs of an insert could not be counted');
        return [];
      });
      const refused = new Set(await withTimeout(refusedIds, ANSWER_MS_MAX, () => []));
      if (refused.size === 0) return jobs;
      const deliveries = jobs.reduce((sum, job) => sum + (refused.has(job.id) ? job.deliveries : 0), 0);
      onDropped(kind, deliveries);
      logDropped(
        { workspaceId, kind, deliveries },
        'webhook deliveries are dropped: too many wait, and Redis is filling',
      );
      return jobs.filter(({ id }) => !refused.has(id));
    },
  };
}
