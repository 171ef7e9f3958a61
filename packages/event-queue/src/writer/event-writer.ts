import { type ClickHouseClient, isInfrastructureError } from '@waymark/clickhouse';
import { EVENT_TABLES, type EventTableKind, type QueueKind } from '@waymark/event-format';
import { checkWritable, createReplication } from '@waymark/redis';
import type { Redis } from 'ioredis';
import { type LateRows, withoutErasedLetters, withoutErasedRows } from '../erasure/late-rows.js';
import { createDeadLetters } from '../queue/dead-letters.js';
import { createInsertsElsewhere } from '../queue/inserts-elsewhere.js';
import { QUEUE_KINDS, queueKey } from '../queue/keys.js';
import type { InsertedBatch, PlanWebhookJobs } from '../queue/webhook-jobs.js';
import { connectWriter, isOutOfMemory } from '../redis/connection.js';
import { withinMs } from '../redis/deadline.js';
import { createMemoryReserve } from '../redis/memory-reserve.js';
import type { QueueLogger } from '../redis/throttled-log.js';
import { createTailPublisher } from '../tail/tail-publisher.js';
import { createBatchWriter, type WriterJob } from './batch-writer.js';
import { confirmJobs } from './confirm-jobs.js';
import { createCustomerWriter } from './customer-writer.js';
import { createEventTable, type EventTable } from './event-table.js';
import { createManifest } from './manifest.js';
import { createQueueWorker, type QueueWorker, type WriterLimits } from './queue-worker.js';
import { createRetry } from './retry.js';
import { checkProgress } from './stall-check.js';
import type { WriteReport } from './write-report.js';

export interface EventWriterOptions {
  readonly redisUrl: string;
  /** The Redis of each other queue shard, in the order of their numbers; none by default. The connections stay open. */
  readonly otherShards?: readonly Redis[];
  /** How many replicas of Redis must have a batch's manifest entry before the batch is inserted; 0 by default. */
  readonly waitReplicas?: number;
  readonly clickhouse: ClickHouseClient;
  /** Whether tables are replicated; false by default. */
  readonly isReplicated?: boolean;
  /** Name of the ClickHouse cluster that stores the events; undefined for a single node. */
  readonly cluster?: string | undefined;
  /** Number of shards of the cluster, 1 by default. Limits on batches grow with it, so that the inserts of a shard do not become smaller. */
  readonly shards?: number;
  /** Whether inserts of events wait for a majority of the replicas; false by default. */
  readonly waitsForQuorum?: boolean;
  readonly logger: QueueLogger;
  readonly now?: () => number;
  readonly limits?: Partial<WriterLimits>;
  /** Returns the webhook jobs for a batch; by default there are none. */
  readonly webhookJobsOf?: PlanWebhookJobs;
  /** The erasures: late rows of erased people are anonymised or not stored. By default there are none. */
  readonly lateRows?: LateRows | undefined;
  /** Called before each attempt to insert rows, and awaited. It must not throw. */
  readonly onInserting?: (batch: InsertedBatch) => Promise<void>;
  /** Called after each insert, also after a repeated one, and awaited before its acknowledgement. It must not throw. */
  readonly onInserted?: (batch: InsertedBatch) => Promise<void>;
  /** Called after a batch is inserted and acknowledged. */
  readonly onStored?: (report: WriteReport) => void;
  /** `checkProgress` rejects when jobs have waited for this long and none was stored; a minute by default. */
  readonly stuckAfterMs?: number;
  /** Time limit of `close`, ten seconds by default. Jobs that are not written by then return to the queue. */
  readonly closeMs?: number;
}

/** Writes queued events and customers to ClickHouse. Several writers may run at the same time. */
export interface EventWriter {
  /** Rejects when Redis takes no writes or a worker has stopped. */
  check(): Promise<void>;
  /** Rejects when jobs of a kind wait but none was stored for `stuckAfterMs`, whatever the reason. */
  checkProgress(): Promise<void>;
  /** Stops taking jobs, finishes inserts and disconnects from Redis. The ClickHouse client stays open. */
  close(): Promise<void>;
}

const LIMITS: WriterLimits = {
  batchRowsMax: 20_000,
  batchBytesMax: 32_000_000,
  batchDelayMs: 100,
  jobsMax: 200,
  insertsMax: 2,
};
const CLOSE_MS = 10_000;
const STUCK_AFTER_MS = 60_000;
const ABORTED_CLOSE_MS = 1000;
/** Length of BullMQ's event streams. Nothing reads them here, and the default of ten thousand entries would waste memory. */
const EVENTS_KEPT = 100;

const SHARDS_IN_BATCH_MAX = 10;

/** Limits on batches. A batch is divided into an insert for each shard, so with several shards it may be larger, and waits longer: up to a second. */
function limitsFor(shards: number): WriterLimits {
  const factor = Math.min(shards, SHARDS_IN_BATCH_MAX);
  return {
    ...LIMITS,
    batchRowsMax: LIMITS.batchRowsMax * factor,
    batchDelayMs: LIMITS.batchDelayMs * factor,
    jobsMax: LIMITS.jobsMax * factor,
  };
}

function isEventKind(kind: string): kind is EventTableKind {
  return kind in EVENT_TABLES;
}

/** Starts a worker for each kind of job. */
export function createEventWriter(options: EventWriterOptions): EventWriter {
  const { clickhouse, isReplicated = false, cluster, waitsForQuorum, logger, now = Date.now } = options;
  const limits = { ...limitsFor(options.shards ?? 1), ...options.limits };
  const redis = connectWriter(options.redisUrl, logger);
  const stopping = new AbortController();
  const reserve = createMemoryReserve(redis, logger);
  let isClickHouseHealthy = true;
  const onRedisError = (err: unknown) => {
    // While ClickHouse is unavailable no job can be completed, so the reserve would be used up without effect.
    if (isClickHouseHealthy && isOutOfMemory(err)) reserve.release();
  };
  /** Wraps a table to track whether inserts succeed. */
  const withHealthTracking = (table: EventTable): EventTable => ({
    ...table,
    async insert(...insertion) {
      try {
        await table.insert(...insertion);
        isClickHouseHealthy = true;
      } catch (err) {
        if (isInfrastructureError(err)) isClickHouseHealthy = false;
        throw err;
      }
    },
  });
  const retry = createRetry({ logger, signal: stopping.signal, onError: onRedisError });
  const replication = createReplication(redis, options.waitReplicas ?? 0);
  const insertsElsewhere = createInsertsElsewhere(options.otherShards ?? [], now);
  const manifest = createManifest(redis, replication, insertsElsewhere);
  const { lateRows } = options;
  const deadLetters = withoutErasedLetters(createDeadLetters(redis, replication), lateRows);
  const tails = createTailPublisher();

  for (const kind of QUEUE_KINDS) {
    redis.hset(queueKey(kind, 'meta'), 'opts.maxLenEvents', EVENTS_KEPT).catch((err: unknown) => {
      logger.debug({ err }, 'the length of an event stream could not be limited');
    });
  }

  const startedMs = now();
  const lastStoredMs = new Map<QueueKind, number>();
  /** Calls `options.onStored`, whose error must not fail the write. */
  const onStored = (report: WriteReport) => {
    lastStoredMs.set(report.kind, report.storedMs);
    try {
      options.onStored?.(report);
    } catch (err) {
      logger.warn({ err }, 'a write report could not be processed');
    }
  };

  const writerOf = (kind: (typeof QUEUE_KINDS)[number]) => {
    if (!isEventKind(kind)) {
      return createCustomerWriter({
        redis,
        client: clickhouse,
        isReplicated,
        deadLetters,
        retry,
        lateRows,
        onStored,
        logger,
        now,
      });
    }
    const stored = createEventTable({ client: clickhouse, kind, cluster, waitsForQuorum, now });
    const table = withHealthTracking(withoutErasedRows(stored, kind, lateRows));
    const { webhookJobsOf, onInserting, onInserted } = options;
    const shared = {
      redis,
      manifest,
      deadLetters,
      retry,
      tails,
      webhookJobsOf,
      onInserting,
      onInserted,
      onStored,
      logger,
      now,
    };
    const batchWriter = createBatchWriter({ kind, table, ...shared });
    return { supports: table.supports, write: batchWriter.write };
  };
  const workerOf = (kind: QueueKind) => {
    const { supports, write } = writerOf(kind);
    const writeConfirmed = async (jobs: readonly WriterJob[]) => {
      const confirmed = await retry('confirming jobs', () => confirmJobs(redis, replication, kind, jobs));
      if (confirmed.length < jobs.length)
        logger.info(
          { kind, jobs: jobs.length - confirmed.length },
          'jobs are gone: another writer has completed them, or a failover has undone their transactions',
        );
      if (confirmed.length > 0) await write(confirmed);
    };
    // ClickHouse refuses a second insert with a quorum into a table while one is running.
    const isSequential = isReplicated && !isEventKind(kind);
    const ownLimits = isSequential ? { ...limits, insertsMax: 1 } : limits;
    return createQueueWorker({
      kind,
      redis,
      limits: ownLimits,
      supports,
      write: writeConfirmed,
      deadLetters,
      logger,
      now,
      onRedisError,
    });
  };
  const workersByKind = new Map<QueueKind, QueueWorker>(QUEUE_KINDS.map((kind) => [kind, workerOf(kind)]));
  const workers = [...workersByKind.values()];
  const kinds = [...workersByKind].map(([kind, { oldestHeldMs }]) => ({
    kind,
    oldestHeldMs,
    lastStoredMs: () => lastStoredMs.get(kind),
  }));

  return {
    async check() {
      if (redis.status !== 'ready') throw new Error('redis is not connected');
      await checkWritable(redis);
      if (workers.some((worker) => !worker.isRunning())) throw new Error('a worker has stopped');
    },

    checkProgress: () =>
      checkProgress({ redis, kinds, startedMs, stuckAfterMs: options.stuckAfterMs ?? STUCK_AFTER_MS, now }),

    async close() {
      const closed = Promise.allSettled(workers.map((worker) => worker.close()));
      const isClosedWithin = (milliseconds: number) =>
        withinMs(closed, milliseconds, 'closing').then(
          () => true,
          () => false,
        );
      // Without Redis no job can be completed or returned; other writers take the jobs over when their locks expire.
      const closeTimeoutMs = redis.status === 'ready' ? (options.closeMs ?? CLOSE_MS) : ABORTED_CLOSE_MS;
      const isInTime = await isClosedWithin(closeTimeoutMs);
      stopping.abort();
      // Work that waits for a retry now returns its jobs to the queue; commands that wait for Redis end at the disconnect.
      if (!isInTime) await isClosedWithin(ABORTED_CLOSE_MS);
      reserve.close();
      insertsElsewhere.close();
      redis.disconnect();
      if (!isInTime) await isClosedWithin(ABORTED_CLOSE_MS);
    },
  };
}
