import { randomUUID } from 'node:crypto';
import type { Stores } from '@waymark/bootstrap';
import type { Catalog, ErasureRecord } from '@waymark/catalog';
import {
  betweenMoves,
  type ClickHouseClient,
  countEvents,
  countUnerased,
  type ErasedClick,
  type ErasureBatch,
  erasureProgress,
  type PreparedErasure,
  prepareErasure,
  sharedClicks,
  startErasure,
} from '@waymark/clickhouse';
import { ApiError, chunksOf, groupBy, hasElapsed, parseResourceId } from '@waymark/contract';
import { eraseClaims, eraseDeadLetters, type LateRows } from '@waymark/event-queue';
import type { Logger } from '@waymark/http-kit';
import { createReplication, takeLease } from '@waymark/redis';
import { eraseWebhookJobs, webhookEventIdOf } from '@waymark/webhooks';
import { subtractOnce } from './erased-counters.js';
import { type PeriodicTask, startPeriodicTask } from './periodic-task.js';
import { createRedisRewrites } from './redis-rewrites.js';

/** Options of {@link startErasures}. */
export interface ErasuresOptions {
  readonly catalog: Catalog;
  /** The Redis that holds the lease. */
  readonly redis: Stores['redis'];
  /** The Redis of each queue shard. */
  readonly queueShards: readonly Stores['redis'][];
  /** How many replicas of Redis must confirm the changes of an erasure; 0 by default. */
  readonly waitReplicas?: number;
  readonly clickhouse: ClickHouseClient;
  readonly cluster: string | undefined;
  readonly lateRows: LateRows;
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly now?: () => number;
  readonly intervalMs?: number;
  /** How long erasures are gathered into a batch. */
  readonly gatherMs: number;
  /** Called every few minutes with the time since which the oldest erasure is open; undefined if none is. */
  readonly onOldest?: (sinceMs: number | undefined) => void;
  /** On a cluster, how long a step waits for a command that moves logical shards to finish the present one; 4 minutes by default. */
  readonly moveWaitMs?: number;
  /** Minimum time between the acceptance of an erasure and its batch: all writers have read it by then. */
  readonly settleMs?: number;
}

const INTERVAL_MS = 30_000;
/** How often the oldest erasure is looked for. */
const OLDEST_EVERY_MS = 5 * 60_000;
/** After this time every insert has ended that a writer began before it read the erasure. */
const SETTLE_MS = 5 * 60_000;
const MOVE_WAIT_MS = 4 * 60_000;
/** Limit on the ids of customers and clicks of a batch, because they are sent in the URL of a statement. */
const IDS_MAX = 12_000;
/** Limit on the erasures of a batch: erasures of external ids that no customer has are without ids. */
const ERASURES_MAX = 4_000;
/** Erasures that are changed in one insert. With ten thousand clicks each they have 30 MB. */
const ERASURES_PER_STEP = 100;

const numberOf = (kind: 'workspace' | 'customer', id: string) => parseResourceId(kind, id) ?? '0';

/** The first erasures whose ids together fit into one batch. The very first always fits. */
function fitting(erasures: readonly ErasureRecord[]): readonly ErasureRecord[] {
  let ids = 0;
  const end = erasures.findIndex(({ customerIds, clickIds }) => {
    ids += customerIds.length + clickIds.length;
    return ids > IDS_MAX;
  });
  return end === -1 ? erasures : erasures.slice(0, Math.max(1, end));
}

const byWorkspace = (erasures: readonly ErasureRecord[]) => groupBy(erasures, ({ workspaceId }) => workspaceId);

/** The erasures in steps of one workspace each. */
function* stepsOf(erasures: readonly ErasureRecord[]): Generator<readonly [string, readonly ErasureRecord[]]> {
  for (const [workspaceId, all] of byWorkspace(erasures)) {
    for (const some of chunksOf(all, ERASURES_PER_STEP)) yield [workspaceId, some];
  }
}

const idsOf = (erasures: readonly ErasureRecord[]) => erasures.map(({ id }) => id);

/** Removes or anonymises erased people in tables, queues and claims: in batches, in one writer at a time. */
export function startErasures(options: ErasuresOptions): PeriodicTask {
  const { catalog, redis, queueShards, clickhouse, cluster, lateRows, logger, now = Date.now } = options;
  const { waitReplicas = 0, gatherMs, settleMs = SETTLE_MS, moveWaitMs = MOVE_WAIT_MS } = options;
  const target = { client: clickhouse, cluster };
  const shards = queueShards.map((shard) => ({ shard, replication: createReplication(shard, waitReplicas) }));
  const rewriteRedisFiles = createRedisRewrites({ queueShards, logger });

  /**
   * Removes the records of the people, and exports that may contain them. The request has done this already, unless it ended early
   * (services/management/src/erasures/erase-customer.ts).
   */
  async function removeRecords(workspaceId: string, erasures: readonly ErasureRecord[]): Promise<void> {
    const customerIds = erasures.flatMap((erasure) => erasure.customerIds);
    for (const id of (await catalog.customers.getMany(workspaceId, customerIds)).keys()) {
      await catalog.customers.remove(workspaceId, id).catch((err: unknown) => {
        if (!(err instanceof ApiError) || err.code !== 'not_found') throw err;
      });
    }
    await catalog.exportJobs.withdraw(workspaceId, erasures);
  }

  /** Begins a batch once an erasure has waited for `gatherMs`. @returns its erasures, which may be none */
  async function begin(lost: AbortSignal): Promise<readonly ErasureRecord[]> {
    const waiting = await catalog.erasures.waiting({ erasures: ERASURES_MAX, ids: IDS_MAX });
    const ageOf = ({ updatedAt }: ErasureRecord) => now() - Date.parse(updatedAt);
    if (!waiting.some((erasure) => ageOf(erasure) >= gatherMs)) return [];
    const batch = randomUUID();
    const startedAt = new Date(now()).toISOString();
    const erasures = fitting(waiting.filter((one) => ageOf(one) >= settleMs));
    for (const [workspaceId, ofWorkspace] of byWorkspace(erasures)) {
      if (lost.aborted) return [];
      await removeRecords(workspaceId, ofWorkspace);
    }
    const begun: ErasureRecord[] = [];
    for (const [workspaceId, some] of stepsOf(erasures)) {
      if (lost.aborted) break;
      // Events that were still queued when the erasure was accepted may belong to further clicks.
      const found = new Map<string, readonly string[]>();
      for (const { id, customerIds } of some) found.set(id, await catalog.erasures.clicksOf(workspaceId, customerIds));
      const marked = await catalog.erasures.updateMany(workspaceId, idsOf(some), (current) => {
        // Once the lease is lost, another writer may begin the mutations of this batch.
        lost.throwIfAborted();
        // Any change would restart the wait of the erasure.
        if (current.status !== 'accepted') return undefined;
        const clickIds = [...new Set([...current.clickIds, ...(found.get(current.id) ?? [])])];
        return { status: 'processing', batch, startedAt, clickIds };
      });
      begun.push(...marked.filter((erasure) => erasure.batch === batch));
    }
    return begun;
  }

  async function contentOf(id: string, erasures: readonly ErasureRecord[]): Promise<ErasureBatch> {
    const customers = erasures.flatMap(({ workspaceId, customerIds, mode }) =>
      customerIds.map((publicId) => ({
        workspace: numberOf('workspace', workspaceId),
        customer: numberOf('customer', publicId),
        publicId,
        isDeleted: mode === 'delete',
      })),
    );
    const clicks: ErasedClick[] = erasures.flatMap(({ workspaceId, clickIds, mode }) =>
      clickIds.map((clickId) => ({
        workspace: numberOf('workspace', workspaceId),
        clickId,
        isDeleted: mode === 'delete',
        deliveryId: webhookEventIdOf('link.clicked', clickId),
      })),
    );
    // Anonymised customers keep their leads and sales, and the clicks behind them.
    const shared = await sharedClicks(
      target,
      customers.filter(({ isDeleted }) => isDeleted),
      clicks.filter(({ isDeleted }) => isDeleted),
    );
    const own = clicks.map((click) => ({ ...click, isDeleted: click.isDeleted && !shared.has(click.clickId) }));
    return { id, customers, clicks: own };
  }

  /** The batch and the phase of it in which its people were last removed from the queues. */
  let removed = '';

  /**
   * Removes or anonymises the people in dead letters, webhook jobs and claims of every queue shard, and waits for the replicas: a failover
   * would bring back what only the old master has removed, and no later batch would look for it. It reads all keys, so it does this once at the
   * beginning of a batch, and once at its end for what was added meanwhile: deliveries that are replayed, rows that ClickHouse has
   * refused, and what a failover has brought back.
   */
  async function eraseQueued(
    batch: ErasureBatch,
    erasures: readonly ErasureRecord[],
    phase: 'begin' | 'end',
  ): Promise<void> {
    if (removed === `${batch.id} ${phase}`) return;
    const { customers, clicks } = batch;
    const people = await catalog.erasures.people.current();
    if (people === undefined) return;
    const ids = [...customers.map(({ publicId }) => publicId), ...clicks.map(({ clickId }) => clickId)];
    const workspaceIds = erasures.map(({ workspaceId }) => workspaceId);
    for (const { shard, replication } of shards) {
      await replication.confirmed(async () => {
        await eraseDeadLetters(shard, people, lateRows);
        await eraseWebhookJobs(shard, people);
        await eraseClaims(shard, replication, workspaceIds, ids);
      });
    }
    removed = `${batch.id} ${phase}`;
  }

  async function end(batch: ErasureBatch, erasures: readonly ErasureRecord[]): Promise<void> {
    const isComplete = (await countUnerased(target, batch)) === 0;
    await catalog.evictAllTotals();
    for (const [workspaceId, some] of stepsOf(erasures)) {
      await catalog.erasures.updateMany(workspaceId, idsOf(some), (current) =>
        current.batch === batch.id && current.status === 'processing'
          ? catalog.erasures.ended(current, isComplete)
          : undefined,
      );
    }
    logger.info({ batch: batch.id, erasures: erasures.length, isComplete }, 'a batch of erasures has ended');
  }

  /** Stores how many events and clicks each erasure has, unless that is known. */
  async function storeCounts(batch: ErasureBatch, erasures: readonly ErasureRecord[]): Promise<void> {
    const hasCounts = ({ events, clicks, customerIds, clickIds }: ErasureRecord) =>
      events + clicks > 0 || customerIds.length + clickIds.length === 0;
    if (erasures.every(hasCounts)) return;
    const counts = await countEvents(target, batch.customers);
    const eventsOf = (customerId: string) => counts.get(numberOf('customer', customerId)) ?? 0;
    for (const [workspaceId, some] of stepsOf(erasures)) {
      const found = new Map(
        some.map(({ id, customerIds, clickIds }) => [
          id,
          { events: customerIds.reduce((sum, one) => sum + eventsOf(one), 0), clicks: clickIds.length },
        ]),
      );
      await catalog.erasures.updateMany(workspaceId, idsOf(some), (current) => {
        const events = Math.max(current.events, found.get(current.id)?.events ?? 0);
        const clicks = Math.max(current.clicks, found.get(current.id)?.clicks ?? 0);
        return events === current.events && clicks === current.clicks ? undefined : { events, clicks };
      });
    }
  }

  /** What the log says of why a batch waits; empty if it does not. */
  let waitsFor = '';

  /**
   * Takes the deleted events out of the counters and starts the mutations of a batch, except those started before. Does neither while a logical
   * shard is moved, because both would leave out its copies.
   *
   * @param lost ends the wait; `lostLease` also the work
   * @returns whether all are started
   */
  async function start(
    batch: ErasureBatch,
    erasures: readonly ErasureRecord[],
    prepared: PreparedErasure,
    lost: AbortSignal,
    lostLease: AbortSignal,
  ): Promise<boolean> {
    if (prepared.missing.length === 0) return true;
    const started = await betweenMoves({ ...target, waitMs: moveWaitMs, signal: lost }, async (assertUnmoved) => {
      const assertHeld = () => {
        // What has begun is ended before the process closes.
        lostLease.throwIfAborted();
        assertUnmoved();
      };
      // The turn may have come minutes after the batch was read.
      const content = cluster === undefined ? batch : await contentOf(batch.id, erasures);
      const current = cluster === undefined ? prepared : await prepareErasure(target, content);
      // The whole subtraction is done before the first mutation begins.
      if (!current.isStarted)
        await subtractOnce({ erasures: catalog.erasures, target, queueShards, logger }, content, erasures, assertHeld);
      await startErasure(target, current, assertHeld);
    });
    const move = started.isDone ? undefined : started.move;
    const reason = started.isDone ? '' : `${batch.id} ${move?.logical}`;
    if (reason !== waitsFor && move !== undefined) {
      const command = `npx waymark shards move ${move.logical} --to ${move.to}`;
      const message = `a batch of erasures waits until the move of logical shard ${move.logical} is finished; if it was interrupted, \`${command}\` continues it`;
      logger.warn({ batch: batch.id }, message);
    } else if (reason !== waitsFor && !started.isDone) {
      logger.info({ batch: batch.id }, 'a batch of erasures waits until a migration or a move of a shard has ended');
    }
    waitsFor = reason;
    return started.isDone;
  }

  /**
   * Continues the batch that has begun, or begins one, as far as is possible now. Every step may be repeated.
   *
   * @param lost aborts also when the task is closed
   */
  async function step(lost: AbortSignal, closing: AbortSignal, lostLease: AbortSignal): Promise<void> {
    const begun = await catalog.erasures.begun();
    const id = begun[0]?.batch ?? undefined;
    const ofBatch = id === undefined ? await begin(lost) : begun.filter(({ batch }) => batch === id);
    const erasures = ofBatch.map(catalog.erasures.inBatch);
    const batchId = id ?? erasures[0]?.batch;
    if (batchId === undefined || batchId === null) return;
    const batch = await contentOf(batchId, erasures);
    await storeCounts(batch, erasures);
    if (removed !== `${batchId} end`) await eraseQueued(batch, erasures, 'begin');
    if (lost.aborted) return;
    const prepared = await prepareErasure(target, batch);
    if (lost.aborted || !(await start(batch, erasures, prepared, lost, lostLease))) return;
    const { running: mutations, oldParts, error } = await erasureProgress(target, batch);
    if (error !== '') logger.error({ batch: batchId, error }, 'a mutation of an erasure fails; ClickHouse repeats it');
    if (mutations + oldParts > 0 || lost.aborted) return;
    await eraseQueued(batch, erasures, 'end');
    if (await rewriteRedisFiles(batchId, closing)) await end(batch, erasures);
  }

  async function runUnderLease(closing: AbortSignal): Promise<void> {
    const lease = await takeLease(redis, 'erasures');
    await lease?.during((lost) => step(AbortSignal.any([closing, lost]), closing, lost));
  }

  let lookedForOldestMs = Number.NEGATIVE_INFINITY;

  /** Reports the oldest erasure, in every writer: only one of them has the lease, and its steps may fail before they change anything. */
  async function reportOldest(): Promise<void> {
    if (options.onOldest === undefined || !hasElapsed(lookedForOldestMs, OLDEST_EVERY_MS, now())) return;
    options.onOldest(await catalog.erasures.openSince());
    lookedForOldestMs = now();
  }

  const run = async (closing: AbortSignal) => {
    await reportOldest().catch((err: unknown) => logger.warn({ err }, 'the oldest erasure is not known'));
    await runUnderLease(closing);
  };

  return startPeriodicTask(run, {
    intervalMs: options.intervalMs ?? INTERVAL_MS,
    onError: (err) => logger.error({ err }, 'erasures could not be continued; retrying'),
  });
}
