import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type ClickHouseClient, insertRows } from '@waymark/clickhouse';
import { formatResourceId } from '@waymark/contract';
import { createReplication } from '@waymark/redis';
import type { Redis } from 'ioredis';
import { blockFilters } from '../claims/filter-marks.js';
import { createInsertsElsewhere } from '../queue/inserts-elsewhere.js';
import type { InsertedBatch } from '../queue/webhook-jobs.js';
import type { QueueLogger } from '../redis/throttled-log.js';
import { createManifest } from '../writer/manifest.js';
import { createRetry, type Retry } from '../writer/retry.js';
import { createHistoryState, HistoryBusyError, type HistoryPosition, type PendingBatch } from './history-state.js';
import { createPartWriter, partId, type RefusedRow } from './part-writer.js';
import { type ClickAlias, layOutPast, type PastClaim, type PastRow, withoutTaken } from './past-batch.js';
import { createPastClaims, LostClaimsError } from './past-claims.js';

export interface PastEventsOptions {
  /** Redis of the queue shards by number; the state is in the first. */
  readonly queues: readonly Redis[];
  /** How many replicas of Redis must confirm the state that an insert relies on; 0 by default. */
  readonly waitReplicas?: number;
  readonly clickhouse: ClickHouseClient;
  /** Name of the ClickHouse cluster that stores the events; undefined for a single node. */
  readonly cluster?: string | undefined;
  readonly waitsForQuorum?: boolean;
  /** `UInt64` as text. */
  readonly workspaceNumber: string;
  /** Redis of the workspace's queue shard, which has its claims. */
  readonly shard: Redis;
  /** Which import it is: only an import with the same identity continues it. */
  readonly identity: string;
  /** Called before each attempt to insert rows, and awaited: their totals are about to change. */
  readonly onInserting: (batch: InsertedBatch) => Promise<void>;
  /** Called after each insert, also after a repeated one, and awaited: cached totals are stale from here on. */
  readonly onInserted: (batch: InsertedBatch) => Promise<void>;
  readonly onRefused: (refused: RefusedRow) => Promise<void>;
  readonly logger: QueueLogger;
  readonly now: () => number;
  readonly signal?: AbortSignal | undefined;
  /** If a process has not renewed the lease for this long, another may continue the import; 10 s by default. */
  readonly leaseMs?: number;
}

/** Events that are stored together, with what belongs to them. */
export interface PastBatch {
  /** Rows that are not stored yet (see {@link PastEvents.absent}), each with another id. */
  readonly rows: readonly PastRow[];
  readonly aliases: readonly ClickAlias[];
  readonly claims: readonly PastClaim[];
  /**
   * The progress of the import once the batch is stored. Called before that, and again when the rows are stored, because the progress
   * includes those that were refused.
   *
   * @param dropped number of rows that were not stored, because other events have their claims
   */
  progressAfter(dropped: number): string;
}

/**
 * Inserts events of the past, without the queue, because its writer refuses such old rows. Each event is stored exactly once, also if
 * processes are killed. Adds no webhook jobs, and neither ids to tails nor usage; totals and roll-ups count the rows as they do others.
 */
export interface PastEvents {
  /** The progress of the last batch of an earlier run that did not finish; undefined at the start. */
  readonly progress: string | undefined;
  /** Number of rows of that batch that were not stored, because other events have their claims, if it was completed only now. */
  readonly dropped: number;
  /** The rows whose ids ClickHouse does not have. */
  absent(rows: readonly PastRow[]): Promise<PastRow[]>;
  /**
   * Stores a batch, without the rows whose claims other events have.
   *
   * @returns the number of these rows
   * @throws HistoryBusyError when another process has taken over; LostClaimsError when claims have expired; the error of Redis or the
   * connection; NotReplicatedError. The import can be repeated, and then continues
   */
  write(batch: PastBatch): Promise<number>;
  /** Ends the import; the next one begins at the start. */
  finish(): Promise<void>;
  /** Gives the lease back. An import that is not finished can be continued. */
  close(): Promise<void>;
}

const LEASE_MS = 10_000;
const RENEWALS_PER_LEASE = 4;
const POLL_MS = 200;
/** Errors with which a run ends: the batch that is being stored is completed by the next one. */
const isEnd = (err: unknown) => err instanceof HistoryBusyError || err instanceof LostClaimsError;
/** Position of the event id in rows of all kinds. */
const ID = 2;
const COUNTS_TABLE = { table: 'imported_counts', columns: ['workspace_id', 'month', 'batch', 'events'] } as const;
const ALIASES_TABLE = { table: 'click_aliases', columns: ['workspace_id', 'alias', 'click_id', 'clicked_at'] } as const;

/**
 * Waits for the lease of the workspace, and completes the batch that a killed import has left. Only one import runs at a time in a workspace,
 * because an import cannot see the inserts that another one has begun.
 *
 * @throws HistoryBusyError when another process keeps the lease; the error of Redis or the connection; NotReplicatedError
 */
export async function openPastEvents(options: PastEventsOptions): Promise<PastEvents> {
  const { queues, clickhouse, workspaceNumber, identity, logger, now, leaseMs = LEASE_MS } = options;
  const [redis] = queues;
  if (redis === undefined) throw new TypeError('no Redis');
  const replication = createReplication(redis, options.waitReplicas ?? 0);
  const state = createHistoryState({ redis, replication, workspaceNumber, owner: randomUUID(), leaseMs });
  const signal = options.signal ?? new AbortController().signal;
  const retryAll = createRetry({ logger, signal, onError: () => undefined });
  const retry: Retry = (what, work, isTransient = () => true) =>
    retryAll(what, work, (err) => !isEnd(err) && isTransient(err));
  const elsewhere = createInsertsElsewhere(queues.slice(1), now);
  const counters = createManifest(redis, replication, elsewhere);
  const parts = createPartWriter({
    clickhouse,
    cluster: options.cluster,
    waitsForQuorum: options.waitsForQuorum ?? false,
    state,
    counters,
    retry,
    onRefused: options.onRefused,
    logger,
    now,
    async onInserting(batch) {
      await options.onInserting(batch);
      await mayInsert();
    },
  });

  const claims = createPastClaims({
    shard: options.shard,
    waitReplicas: options.waitReplicas ?? 0,
    clickhouse,
    cluster: options.cluster,
    workspaceNumber,
    retry,
  });
  const workspaceId = formatResourceId('workspace', workspaceNumber);
  const shards = queues.map((queue) => ({ queue, confirming: createReplication(queue, options.waitReplicas ?? 0) }));
  /** Blocks filters, because the claims of past events, and of customers that are created for them, end once they are stored. */
  async function block(): Promise<void> {
    await Promise.all(shards.map(({ queue, confirming }) => blockFilters(queue, confirming, workspaceId)));
  }

  /**
   * Call it right before each attempt to insert: this process may have been suspended, or cut off from Redis, since it took the lease and the
   * claims, so that another one has completed the batch, or a request has recorded one of its sales.
   *
   * @throws HistoryBusyError; LostClaimsError; the error of Redis or the connection; NotReplicatedError
   */
  async function mayInsert(): Promise<void> {
    if (failure !== undefined) throw failure;
    await state.renew();
    await claims.renew();
  }

  async function take(): Promise<void> {
    const untilMs = performance.now() + 1.5 * leaseMs;
    while (!(await state.take())) {
      if (performance.now() > untilMs)
        throw new HistoryBusyError('events are being imported into this workspace by another process');
      await delay(POLL_MS, undefined, { signal });
    }
  }

  /** Inserts aliases and counts of events. May be repeated: the tables keep one of equal rows. */
  async function insertNotes({ id, aliases, months }: PendingBatch): Promise<void> {
    const insert = (table: typeof COUNTS_TABLE | typeof ALIASES_TABLE, rows: (string | number)[][]) =>
      retry(`inserting ${table.table}`, async () => {
        await mayInsert();
        await insertRows(clickhouse, { ...table, rows });
      });
    await insert(
      ALIASES_TABLE,
      aliases.map(([alias, clickId, atMs]) => [workspaceNumber, alias, clickId, atMs]),
    );
    await insert(
      COUNTS_TABLE,
      months.map(([month, events]) => [workspaceNumber, month, id, events]),
    );
  }

  /** Takes the claims of a batch. @returns the batch without the events that others stand for, and the number of dropped rows */
  async function claim(batch: PendingBatch, isContinued: boolean) {
    const taken = [...(await claims.hold(batch)), ...(isContinued ? await claims.ofStoredEvents(batch) : [])];
    const dropped = new Set(taken.flatMap(({ ifTaken, eventId }) => (ifTaken === 'drop' ? [eventId] : []))).size;
    return { batch: taken.length === 0 ? batch : withoutTaken(batch, taken), dropped };
  }

  /** @param progressAfter the progress once the rows are stored, when those that were refused are known */
  async function store(
    batch: PendingBatch,
    isRepeat: boolean,
    split: readonly string[],
    progressAfter = () => batch.progress,
  ): Promise<void> {
    await block();
    // Before the events: an event is never stored without its alias and its count.
    await insertNotes(batch);
    const splitParts = new Set(split);
    for (const part of batch.parts) {
      await parts.write(batch, part, isRepeat, splitParts);
      await options.onInserted({ kind: part.kind, batchId: partId(batch, part), rows: part.rows });
    }
    await state.acknowledge(progressAfter());
  }

  /** Completes the batch of a killed run, also when that was another import. @returns the progress to continue from; undefined = from the start */
  async function open(): Promise<string | undefined> {
    let found: HistoryPosition = await state.read();
    if (found.pending !== undefined) {
      const claimed = await claim(found.pending, true);
      let { batch } = claimed;
      if (batch !== found.pending) {
        // The tokens stand for the rows before the change. So the new revision gets new tokens, and only absent rows are inserted.
        batch = { ...batch, revision: batch.revision + 1, insertsBefore: Number.MIN_SAFE_INTEGER };
        await state.begin(batch, found.split);
      }
      await store(batch, true, found.split);
      await claims.end(batch, new Map());
      dropped = claimed.dropped;
      found = await state.read();
    }
    if (found.identity === identity) return found.progress;
    await state.restart(identity);
    return undefined;
  }

  await take().catch((err: unknown) => {
    elsewhere.close();
    throw err;
  });
  let failure: unknown;
  const renewal = setInterval(() => {
    if (signal.aborted) return;
    state.renew().catch((err: unknown) => {
      if (err instanceof HistoryBusyError) failure = err;
    });
    // A failure does not matter: each batch blocks filters before it is stored.
    block().catch(() => undefined);
    claims.renew().catch((err: unknown) => {
      if (err instanceof LostClaimsError) failure = err;
    });
  }, leaseMs / RENEWALS_PER_LEASE);
  renewal.unref();

  async function close(isFinished: boolean): Promise<void> {
    clearInterval(renewal);
    elsewhere.close();
    await state.release(isFinished);
  }

  let progress: string | undefined;
  let dropped = 0;
  try {
    await block();
    progress = await open();
  } catch (err) {
    await close(false).catch(() => undefined);
    throw err;
  }
  return {
    progress,
    dropped,

    async absent(rows) {
      const present = new Set<string>();
      for (const kind of new Set(rows.map((past) => past.kind))) {
        const texts = rows.filter((past) => past.kind === kind).map(({ row }) => JSON.stringify(row.slice(0, ID + 1)));
        for (const id of await retry('finding rows', () => parts.tableOf(kind).findPresent(texts))) present.add(id);
      }
      return rows.filter(({ row }) => !present.has(String(row[ID])));
    },

    async write({ rows, aliases, claims: taking, progressAfter }) {
      if (failure !== undefined) throw failure;
      const before = { insertsElsewhere: [...elsewhere.seen()], insertsBefore: await counters.insertCount() };
      const { inserts, parts: laidOut, months } = layOutPast(rows);
      if (inserts > 0) await counters.addInserts(inserts);
      const claimed = await claim(
        {
          id: randomUUID(),
          revision: 0,
          at: now(),
          ...before,
          progress: '',
          parts: laidOut,
          months,
          claims: taking.map(({ eventId, name, ifTaken }) => ({ eventId, name, ifTaken })),
          aliases: aliases.map(({ alias, clickId, clickedAtMs }) => [alias, clickId, clickedAtMs]),
        },
        false,
      );
      const batch = { ...claimed.batch, progress: progressAfter(claimed.dropped) };
      await state.begin(batch);
      await store(batch, false, [], () => progressAfter(claimed.dropped));
      await claims.end(batch, new Map(taking.map(({ name, value }) => [name, value])));
      return claimed.dropped;
    },

    finish: () => close(true),
    close: () => close(false),
  };
}
