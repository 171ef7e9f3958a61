import { type ClickHouseClient, isInfrastructureError } from '@waymark/clickhouse';
import { EVENT_TABLES, type EventTableKind, type QueueKind } from '@waymark/event-format';
import { createDeadLetters } from '../queue/dead-letters.js';
import { QUEUE_KINDS, queueKey } from '../queue/keys.js';
import type { WebhookJobsOf, WrittenGroup } from '../queue/webhook-jobs.js';
import { connectWriter, isOutOfMemory } from '../redis/connection.js';
import { withinMs } from '../redis/deadline.js';
import type { QueueLogger } from '../redis/throttled-log.js';
import { createCustomerWriter } from './customer-writer.js';
import { createEventTable, type EventTable } from './event-table.js';
import { createGroupWriter } from './group-writer.js';
import { createManifest } from './manifest.js';
import { createMemoryReserve } from './memory-reserve.js';
import { createEventWorker, type EventWorker, type WriterLimits } from './queue-worker.js';
import { createPersistence } from './retry.js';
import { checkProgress } from './stall-check.js';
import type { StoredGroup } from './write-report.js';

export interface EventWriterOptions {
  readonly redisUrl: string;
  readonly clickhouse: ClickHouseClient;
  readonly logger: QueueLogger;
  readonly now?: () => number;
  readonly limits?: Partial<WriterLimits>;
  /** What follows an insert; nothing unless given. */
  readonly webhookJobsOf?: WebhookJobsOf;
  /** Told of the rows of every insert, as soon as ClickHouse has them; of those of a repeated one again. */
  readonly onInserted?: (group: WrittenGroup) => void;
  /** Told of every group that is stored. */
  readonly onStored?: (group: StoredGroup) => void;
  /** How long jobs may wait while none is stored until the writer counts as stuck. */
  readonly stuckAfterMs?: number;
  /** What has not been written by then goes back into the queue. */
  readonly closeMs?: number;
}

/** Carries what is queued into ClickHouse. Several may run. */
export interface EventWriter {
  /** Rejects when Redis does not answer or a worker has stopped. */
  check(): Promise<void>;
  /** Rejects when jobs wait and for a minute none of their kind was stored, whatever the reason. */
  checkProgress(): Promise<void>;
  /** Takes no more jobs, finishes inserts, leaves Redis; ClickHouse is left open. */
  close(): Promise<void>;
}

const LIMITS: WriterLimits = {
  groupRowsMax: 20_000,
  groupBytesMax: 32_000_000,
  groupDelayMs: 100,
  jobsMax: 200,
  insertsMax: 2,
};
const CLOSE_MS = 10_000;
const STUCK_AFTER_MS = 60_000;
const LAST_WORDS_MS = 1000;
/** BullMQ's event streams are read by nobody here; ten thousand entries a queue would only take memory. */
const EVENTS_KEPT = 100;

function isEventKind(kind: string): kind is EventTableKind {
  return kind in EVENT_TABLES;
}

/** Starts a worker for each kind of job. */
export function createEventWriter(options: EventWriterOptions): EventWriter {
  const { clickhouse, logger, now = Date.now } = options;
  const limits = { ...LIMITS, ...options.limits };
  const redis = connectWriter(options.redisUrl, logger);
  const stopping = new AbortController();
  const reserve = createMemoryReserve(redis, logger, now);
  let isClickHouseWell = true;
  const onRedisError = (err: unknown) => {
    // While nothing can be written the reserve would only be eaten by others.
    if (isClickHouseWell && isOutOfMemory(err)) reserve.release();
  };
  /** Notes whether inserts go through. */
  const watched = (table: EventTable): EventTable => ({
    ...table,
    async insert(...insertion) {
      try {
        await table.insert(...insertion);
        isClickHouseWell = true;
      } catch (err) {
        if (isInfrastructureError(err)) isClickHouseWell = false;
        throw err;
      }
    },
  });
  const { insist } = createPersistence({ logger, now, signal: stopping.signal });
  const persistence = {
    insist: <T>(what: string, work: (attempt: number) => Promise<T>, isPassing?: (err: unknown) => boolean) =>
      insist(
        what,
        async (attempt) => {
          try {
            return await work(attempt);
          } catch (err) {
            onRedisError(err);
            throw err;
          }
        },
        isPassing,
      ),
  };
  const manifest = createManifest(redis);
  const deadLetters = createDeadLetters(redis);

  for (const kind of QUEUE_KINDS) {
    redis.hset(queueKey(kind, 'meta'), 'opts.maxLenEvents', EVENTS_KEPT).catch((err: unknown) => {
      logger.debug({ err }, 'event streams keep their length');
    });
  }

  const startedAt = now();
  const lastStoredAt = new Map<QueueKind, number>();
  /** Whoever is told must not hold up what is stored. */
  const onStored = (group: StoredGroup) => {
    lastStoredAt.set(group.kind, group.storedAt);
    try {
      options.onStored?.(group);
    } catch (err) {
      logger.warn({ err }, 'a stored group could not be published');
    }
  };

  const writerOf = (kind: (typeof QUEUE_KINDS)[number]) => {
    if (!isEventKind(kind)) {
      return createCustomerWriter({ redis, client: clickhouse, deadLetters, persistence, onStored, logger, now });
    }
    const table = watched(createEventTable(clickhouse, kind));
    const { webhookJobsOf, onInserted } = options;
    const shared = { redis, manifest, deadLetters, persistence, webhookJobsOf, onInserted, onStored, logger, now };
    const group = createGroupWriter({ kind, table, ...shared });
    return { knows: table.knows, write: group.write };
  };
  const workerOf = (kind: QueueKind) =>
    createEventWorker({ kind, redis, limits, ...writerOf(kind), deadLetters, logger, now, onRedisError });
  const workerByKind = new Map<QueueKind, EventWorker>(QUEUE_KINDS.map((kind) => [kind, workerOf(kind)]));
  const workers = [...workerByKind.values()];
  const kinds = [...workerByKind].map(([kind, { oldestHeldAt }]) => ({
    kind,
    oldestHeldAt,
    lastStoredAt: () => lastStoredAt.get(kind),
  }));

  return {
    async check() {
      if (redis.status !== 'ready') throw new Error('redis is not connected');
      if (workers.some((worker) => !worker.isRunning())) throw new Error('a worker has stopped');
    },

    checkProgress: () =>
      checkProgress({ redis, kinds, startedAt, stuckAfterMs: options.stuckAfterMs ?? STUCK_AFTER_MS, now }),

    async close() {
      const closed = Promise.allSettled(workers.map((worker) => worker.close()));
      const isClosedWithin = (milliseconds: number) =>
        withinMs(closed, milliseconds, 'closing').then(
          () => true,
          () => false,
        );
      // Without Redis no job can be completed or given back: both happen by themselves when its lock expires.
      const patienceMs = redis.status === 'ready' ? (options.closeMs ?? CLOSE_MS) : LAST_WORDS_MS;
      const inTime = await isClosedWithin(patienceMs);
      stopping.abort();
      // What waits between two attempts gives its jobs back; what waits for Redis itself ends with the connection.
      if (!inTime) await isClosedWithin(LAST_WORDS_MS);
      reserve.close();
      redis.disconnect();
      if (!inTime) await isClosedWithin(LAST_WORDS_MS);
    },
  };
}
