import { ApiError } from '@waymark/contract';
import type { QueueKind } from '@waymark/event-format';
import { checkWritable, createReplication } from '@waymark/redis';
import { finalValue, OWNER_GIVES_UP_MS, pendingValue } from '../claims/claim-value.js';
import { ClaimHeldError, type Claims, createClaims, notRecorded } from '../claims/claims.js';
import { type FilterMark, openFilterMark } from '../claims/filter-marks.js';
import { createJobAdder, keepOnlyJobScripts } from '../queue/job-adder.js';
import { claimKey, QUEUE_PREFIX } from '../queue/keys.js';
import { oldestQueuedMs } from '../queue/oldest-job.js';
import { connectProducer } from '../redis/connection.js';
import { DeadlineError, withinMs } from '../redis/deadline.js';
import { createRedisHealth, type Load } from '../redis/redis-health.js';
import type { QueueLogger } from '../redis/throttled-log.js';
import { createSpoolReplayer } from '../spool/replayer.js';
import { createSpool } from '../spool/spool.js';
import { createSpoolAges } from '../spool/spool-ages.js';
import { type BatchItem, type CommitItem, type QueuedRow, rowTexts } from './batch-items.js';
import { createBatchSender } from './batch-sender.js';
import { createClickClaimReader } from './click-claim-reader.js';
import { type Click, createClickRecorder, type RecordedClick } from './click-recorder.js';
import { createMicroBatcher } from './micro-batcher.js';
import { findQueuedClick } from './queued-clicks.js';
import { createRecentClicks } from './recent-clicks.js';
import type { EntryFinal, StateValue } from './transaction.js';

/** A claim that the commit makes final. */
export interface FinalClaim {
  readonly name: string;
  /** The owner that holds the claim as pending; undefined: the claim must be free, and the commit takes it. */
  readonly owner: string | undefined;
  readonly value: string;
  readonly ttlMs: number;
}

export interface CommitRequest {
  readonly rows: readonly QueuedRow[];
  readonly finals: readonly FinalClaim[];
  /** The mark of the filter that the commit relies on; undefined if it relies on none. */
  readonly filterMark?: FilterMark | undefined;
  /** Redis keys to set together with the rows, made by `stateKey`. */
  readonly state?: readonly StateValue[];
}

/** Adds events to the queue of one Redis. Create one per process and queue shard. */
export interface EventProducer {
  /**
   * Records a click unless its claim was used within the hour. Resolves when the row is in the queue, or in the spool on disk if Redis does
   * not answer within 50 ms.
   *
   * @throws ApiError when both fail, or the row is too large
   */
  recordClick(click: Click): Promise<RecordedClick>;
  /** The id of the click recorded under the claim within the hour, if any. @throws ApiError when Redis does not answer */
  findRecentClick(claim: string): Promise<string | undefined>;
  /**
   * The row, as JSON, of a click that any process has queued as findable; undefined if it is not queued any more, or never was.
   *
   * @throws the error of Redis or the connection
   */
  findQueuedClick(clickId: string): Promise<string | undefined>;
  /**
   * Queues rows, finalizes claims and sets state, all or nothing.
   *
   * @throws ApiError with `Retry-After`: 429 when Redis is short of memory, so that nothing was queued; otherwise 500, although the rows may
   * have been queued. A retry of a request with a claim is safe: it finds the claim's final value. ApiError 422 when the rows are too large
   * @throws ClaimHeldError when a claim that had to be free is held, or Redis has another mark than `filterMark`
   */
  commit(request: CommitRequest): Promise<void>;
  /** Claims in the Redis of this producer. */
  readonly claims: Claims;
  /** The load of Redis. Unless it is `normal`, commits are refused. */
  load(): Load;
  /**
   * Reads keys that commits have set; undefined for missing ones.
   *
   * @throws the error of Redis or the connection
   */
  readState(keys: readonly string[]): Promise<(string | undefined)[]>;
  /**
   * The mark of a workspace's filters (see claims/filter-marks.ts); undefined while they are blocked.
   *
   * @throws the error of Redis or the connection
   */
  openFilterMark(workspaceId: string): Promise<FilterMark | undefined>;
  /**
   * How often the connection to Redis was lost. Do not use filters that were loaded before the last loss: the next connection may lead to a
   * former replica, which lacks the last claims.
   */
  connectionsLost(): number;
  /**
   * When the oldest event in the queue was put there, epoch milliseconds; undefined if there is none. Clicks in the spools of all processes
   * count too; 0 if their age is unknown (`Spool.oldestMs`). For spools in other directories it is a lower bound (`SpoolAges`). Of the queue,
   * only the jobs that workers take next are read (see queue/oldest-job.ts).
   *
   * @throws the error of Redis, the connection or the file system
   */
  oldestQueuedMs(kind: QueueKind): Promise<number | undefined>;
  /** Bytes of the spool of this producer on disk. */
  spoolBytes(): number;
  /** Rejects when Redis does not take writes, too few replicas confirm them, or other processes cannot find out the age of the spool yet. */
  ping(): Promise<void>;
  /** Sends the waiting events. No other method may be called after this. */
  close(): Promise<void>;
}

export interface EventProducerOptions {
  readonly redisUrl: string;
  /** How many replicas of Redis must have an event before it is acknowledged; 0 by default. */
  readonly waitReplicas?: number;
  readonly spoolDirectory: string;
  readonly logger: QueueLogger;
  readonly now?: () => number;
  readonly spoolBytesMax?: number;
  /** Returns the bytes of other spools, which count towards `spoolBytesMax`; 0 by default. */
  readonly spoolBytesElsewhere?: () => number;
  readonly batchDelayMs?: number;
  readonly clickDeadlineMs?: number;
  readonly memoryPollMs?: number;
}

const BATCH_DELAY_MS = 2;
/** After a batch this small the next one is sent without delay: waiting would cost more than the transaction it saves. */
const LONE_ROWS_MAX = 8;
const BATCH_ROWS_MAX = 500;
const BATCH_BYTES_MAX = 1_000_000;
const BATCHES_IN_FLIGHT_MAX = 2;
const CLICK_DEADLINE_MS = 50;
const RECENT_CLICK_ANSWER_MS = 2000;
const STATE_ANSWER_MS = 2000;
const MEMORY_POLL_MS = 250;
const SPOOL_BYTES_MAX = 1024 ** 3;
const REPLAY_INTERVAL_MS = 100;
const TAKE_OVER_INTERVAL_MS = 5000;
/** How long a failed add of clicks is retried under the same job ids. */
const RETRY_MS = 5 * 60_000;
/** Timeout of a commit. It ends earlier when a claim of the commit becomes too old. */
const COMMIT_ANSWER_MS = 5000;
const SHED_RETRY_AFTER_SECONDS = 5;
const CLAIMS_EXPIRED = 'its claims had expired';

/** Connects to Redis and starts replaying the spool, including files that earlier processes have left. */
export function createEventProducer(options: EventProducerOptions): EventProducer {
  const { logger, now = Date.now } = options;
  const redis = connectProducer(options.redisUrl, logger);
  const health = createRedisHealth(redis, { pollMs: options.memoryPollMs ?? MEMORY_POLL_MS, logger });
  const replication = createReplication(redis, options.waitReplicas ?? 0);
  const claims = createClaims(redis, replication, now);
  const readClickClaims = createClickClaimReader(redis, replication);
  const adder = createJobAdder(redis, replication);
  keepOnlyJobScripts(redis);
  let connectionsLost = 0;
  redis.on('close', () => {
    connectionsLost += 1;
  });
  const spool = createSpool({
    directory: options.spoolDirectory,
    bytesMax: options.spoolBytesMax ?? SPOOL_BYTES_MAX,
    bytesElsewhere: options.spoolBytesElsewhere,
    logger,
    now,
  });
  const spoolAges = createSpoolAges({ redis, directory: options.spoolDirectory, spool, logger, now });
  const sender = createBatchSender({
    adder,
    readClickClaims,
    health,
    spool,
    logger,
    now,
    clickDeadlineMs: options.clickDeadlineMs ?? CLICK_DEADLINE_MS,
    retryMs: RETRY_MS,
  });
  const batcher = createMicroBatcher<BatchItem>({
    delayMs: options.batchDelayMs ?? BATCH_DELAY_MS,
    loneRowsMax: LONE_ROWS_MAX,
    rowsMax: BATCH_ROWS_MAX,
    bytesMax: BATCH_BYTES_MAX,
    inFlightMax: BATCHES_IN_FLIGHT_MAX,
    flush: (items) => sender.send(items),
  });
  const recent = createRecentClicks(now);
  const replayer = createSpoolReplayer({
    spool,
    adder,
    health,
    logger,
    now,
    intervalMs: REPLAY_INTERVAL_MS,
    takeOverIntervalMs: TAKE_OVER_INTERVAL_MS,
  });

  const deadlineOf = (finals: readonly FinalClaim[]): number => {
    const takenMs = finals.map(({ owner }) => (owner === undefined ? undefined : claims.takenMs(owner)) ?? now());
    return Math.min(now() + COMMIT_ANSWER_MS, ...takenMs.map((at) => at + OWNER_GIVES_UP_MS));
  };

  const submit = (request: CommitRequest, untilMs: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const rows = rowTexts(request.rows);
      const finals: EntryFinal[] = request.finals.map(({ name, owner, value, ttlMs }) => ({
        key: claimKey(name),
        pending: owner === undefined ? '' : pendingValue(owner),
        final: finalValue(value),
        ttlMs,
      }));
      const { filterMark } = request;
      if (filterMark !== undefined) {
        const { key, value, ttlMs } = filterMark;
        // A claim whose value stays as it is: the transaction is refused if the mark has changed.
        finals.push({ key, pending: value, final: value, ttlMs });
      }
      const mayBeHeld = filterMark !== undefined || request.finals.some(({ owner }) => owner === undefined);
      const settle = (answer: () => void) => {
        clearTimeout(timer);
        item.isSettled = true;
        answer();
      };
      // `setImmediate`: after the event loop was blocked, a reply that is waiting in the socket is read before the timeout counts.
      const timer = setTimeout(
        () => setImmediate(() => item.fail(notRecorded(new DeadlineError('commit', COMMIT_ANSWER_MS)))),
        untilMs - now(),
      );
      const item: CommitItem = {
        type: 'commit',
        rows,
        finals,
        state: request.state ?? [],
        isSettled: false,
        succeed: () => settle(resolve),
        refuse: () => settle(() => reject(mayBeHeld ? new ClaimHeldError() : notRecorded(new Error(CLAIMS_EXPIRED)))),
        fail: (err) => settle(() => reject(err)),
      };
      batcher.add(
        item,
        rows.length,
        rows.reduce((sum, { text }) => sum + text.length, 0),
      );
    });

  return {
    claims,
    load: () => health.load(),
    recordClick: createClickRecorder(batcher, recent),

    async findRecentClick(claim) {
      try {
        return recent.get(claim) ?? (await readClickClaims([claim], RECENT_CLICK_ANSWER_MS))[0];
      } catch (err) {
        throw notRecorded(err);
      }
    },

    findQueuedClick: (clickId) => findQueuedClick(redis, replication, clickId),

    async commit(request) {
      if (health.load() !== 'normal') {
        throw new ApiError('rate_limit_exceeded', 'Too many events at the moment. Retry later.', {
          retryAfterSeconds: SHED_RETRY_AFTER_SECONDS,
        });
      }
      for (const { key } of request.state ?? []) {
        if (!key.startsWith(QUEUE_PREFIX)) throw new TypeError(`a state key must start with ${QUEUE_PREFIX}: ${key}`);
      }
      const untilMs = deadlineOf(request.finals);
      if (untilMs <= now()) throw notRecorded(new Error('its claims are too old'));
      await submit(request, untilMs);
    },

    async readState(keys) {
      const values = await withinMs(redis.mget(...keys), STATE_ANSWER_MS, 'reading state');
      return values.map((value) => value ?? undefined);
    },

    spoolBytes: spool.bytesOnDisk,

    async openFilterMark(workspaceId) {
      return withinMs(openFilterMark(redis, replication, workspaceId), STATE_ANSWER_MS, 'opening a filter mark');
    },

    connectionsLost: () => connectionsLost,

    async oldestQueuedMs(kind) {
      // Read before the queue, so that a click that moves from one to the other in between is in the queue.
      const spooled = kind === 'click' ? [await spool.oldestMs(), await spoolAges.oldestElsewhere()] : [];
      const times = [...spooled, await oldestQueuedMs(redis, kind)].filter((time) => time !== undefined);
      return times.length === 0 ? undefined : Math.min(...times);
    },

    async ping() {
      if (!health.isAnswering()) throw new Error('redis does not respond');
      await spoolAges.announced();
      await replication.confirmed(() => checkWritable(redis));
    },

    async close() {
      await batcher.close();
      await sender.close();
      await replayer.close();
      await spoolAges.close();
      await spool.close();
      health.close();
      claims.close();
      redis.disconnect();
    },
  };
}
