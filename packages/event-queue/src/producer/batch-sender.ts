import { withTimeout } from '@waymark/cache';
import { CLICK_CLAIM_MS } from '../claims/claim-names.js';
import { notRecorded } from '../claims/claims.js';
import type { JobAdder } from '../queue/job-adder.js';
import { hadNoEffect, isOutOfMemory } from '../redis/connection.js';
import { backoffMs, DeadlineError, pause, withinMs } from '../redis/deadline.js';
import type { RedisHealth } from '../redis/redis-health.js';
import { type QueueLogger, throttled } from '../redis/throttled-log.js';
import { createMarkerSequence } from '../spool/batch-markers.js';
import type { Spool } from '../spool/spool.js';
import { type Batch, buildBatch, planOf } from './batch.js';
import type { BatchItem, ClickItem, CommitItem } from './batch-items.js';
import type { ReadClickClaims } from './click-claim-reader.js';
import { OUTCOME_MS, runTransaction, type TransactionResult } from './transaction.js';

export interface BatchSenderOptions {
  readonly adder: JobAdder;
  readonly readClickClaims: ReadClickClaims;
  readonly health: RedisHealth;
  readonly spool: Spool;
  readonly logger: QueueLogger;
  readonly now: () => number;
  /** Clicks that Redis has not accepted within this time go to the spool. */
  readonly clickDeadlineMs: number;
  /** How long to retry clicks that neither Redis nor the spool has accepted. */
  readonly retryMs: number;
}

export interface BatchSender {
  /**
   * Resolves when the batch's clicks are settled; its commits may continue in the background, as may clicks that wait for the disk for longer
   * than a second: if the disk hangs, later batches go to Redis once it answers again.
   */
  send(items: readonly BatchItem[]): Promise<void>;
  /** Waits for clicks that are written to disk, and up to two seconds for the other work in the background, then ends its retries. */
  close(): Promise<void>;
}

/** Minimum wait for the answer of a transaction, even after the deadline: the time may have passed because this process was busy. */
const ADD_MS_MIN = 25;
const RETRY_FIRST_MS = 25;
const RETRY_MAX_MS = 1000;
/** How long to try to strike rows without claims whose callers have an error. The writer has inserted most such rows by then. */
const STRIKE_MS = 30_000;
const RETRY_CHARS_MAX = 64_000_000;
const CLOSE_WAIT_MS = 2000;
const DISK_WAIT_MS = 1000;
const LOST_LOG_INTERVAL_MS = 1000;

/** Sends each batch as one transaction. Clicks that Redis does not accept in time go to the spool. */
export function createBatchSender(options: BatchSenderOptions): BatchSender {
  const { adder, readClickClaims, health, spool, logger, now } = options;
  const background = new Set<Promise<void>>();
  const spooling = new Set<Promise<void>>();
  const closing = new AbortController();
  const nextMarker = createMarkerSequence(now);
  let retryChars = 0;
  // Throttled: while Redis is away and the disk is full, every batch is lost, hundreds a second.
  const logLost = throttled((context, message) => logger.error(context, message), LOST_LOG_INTERVAL_MS);

  const report = (err: unknown) => {
    if (isOutOfMemory(err)) health.reportFull();
    else health.reportFailure(err);
  };

  /** For a Redis that answers but is nearly full: settles the clicks whose visits were counted within the hour, and returns the others. */
  const settleCounted = async (clicks: readonly ClickItem[], milliseconds: number): Promise<readonly ClickItem[]> => {
    try {
      const ids = await readClickClaims(
        clicks.map(({ claim }) => claim),
        milliseconds,
      );
      return clicks.filter((click, index) => {
        const id = ids[index];
        if (id !== undefined) click.succeed(id);
        return id === undefined;
      });
    } catch (err) {
      report(err);
      return clicks;
    }
  };

  /** Returns the clicks that are to be recorded, and whether to send them to Redis (`viaRedis`) or to the spool. */
  const routeClicks = async (clicks: readonly ClickItem[], deadline: number) => {
    const left = () => Math.max(1, deadline - now());
    if (!(await health.waitUntilAnswering(left()))) return { toRecord: clicks, viaRedis: false };
    if (health.load() !== 'spool-clicks') return { toRecord: clicks, viaRedis: true };
    return { toRecord: await settleCounted(clicks, left()), viaRedis: false };
  };

  /** @returns false when the clicks are not stored */
  const appendClicks = async ({ clicks, clickJob, marker }: Batch): Promise<boolean> => {
    if (clickJob === undefined) return true;
    const claims = clicks.map(({ claim, clickId }) => ({ name: claim, value: clickId }));
    try {
      await spool.append({ ...clickJob, marker, claims, claimsUntil: now() + CLICK_CLAIM_MS });
      for (const click of clicks) click.succeed(click.clickId);
      return true;
    } catch (err) {
      logLost({ err, clicks: clicks.length }, 'clicks could be stored neither in Redis nor on disk');
      for (const click of clicks) click.fail(notRecorded(err));
      return false;
    }
  };

  const settleCommits = (batch: Batch, { late }: TransactionResult, sentMs: number) => {
    batch.commits.forEach((commit, index) => {
      if (!late.has(index)) commit.succeed();
      else if (now() - sentMs < OUTCOME_MS) commit.refuse();
      // After a standstill of this process: an earlier attempt may have recorded it, its job be written, and its outcome have expired.
      else commit.fail(notRecorded(new Error('it is unknown whether the commit was recorded')));
    });
  };

  /**
   * Whether no attempt is needed after those that may have succeeded. Callers that have an error may send their requests again: rows with claims
   * are refused then, and rows without claims are struck by one more attempt, while their job waits.
   */
  const mayEnd = ({ commits }: Batch, sentMs: number) =>
    commits.every((commit) => commit.isSettled) &&
    (commits.every(({ finals }) => finals.length > 0) || now() - sentMs > STRIKE_MS);

  /**
   * Repeats the transaction of a batch until its commits are settled. They fail at once while it is certain that Redis has carried out none
   * of the attempts. If an attempt may have succeeded, the transaction is repeated until Redis answers or every caller has timed out; half
   * a minute, if it has rows without claims.
   *
   * @param sentMs a time before the first attempt
   */
  const followCommits = async (batch: Batch, first: Promise<TransactionResult>, sentMs: number): Promise<void> => {
    let attempt = first;
    let isCertain = true;
    for (let count = 0; ; count++) {
      try {
        settleCommits(batch, await attempt, sentMs);
        return;
      } catch (err) {
        report(err);
        isCertain &&= hadNoEffect(err);
        if (isCertain) for (const commit of batch.commits) commit.fail(notRecorded(err));
      }
      if (isCertain || mayEnd(batch, sentMs)) return;
      await pause(backoffMs(count, RETRY_FIRST_MS, RETRY_MAX_MS), closing.signal);
      if (closing.signal.aborted || mayEnd(batch, sentMs)) return;
      attempt = runTransaction(adder, planOf(batch, false));
    }
  };

  /** Retries clicks that neither Redis nor the spool accepted. Their callers already have an error, but most clicks can be recorded later. */
  const retryClicks = async (batch: Batch): Promise<void> => {
    const until = now() + options.retryMs;
    for (let count = 0; now() < until && !closing.signal.aborted; count++) {
      await pause(backoffMs(count, RETRY_FIRST_MS, RETRY_MAX_MS), closing.signal);
      if (!(await health.waitUntilAnswering(RETRY_MAX_MS)) || health.load() === 'spool-clicks') continue;
      try {
        await runTransaction(adder, planOf({ ...batch, commits: [], commitJobs: [] }, true));
        return;
      } catch (err) {
        report(err);
      }
    }
  };

  const inBackground = (work: Promise<void>, among = background) => {
    const tracked = work.finally(() => among.delete(tracked));
    among.add(tracked);
  };

  const retryLater = (batch: Batch) => {
    const chars = batch.clickJob?.rows.length ?? 0;
    if (retryChars + chars > RETRY_CHARS_MAX) return;
    retryChars += chars;
    inBackground(
      retryClicks(batch).finally(() => {
        retryChars -= chars;
      }),
    );
  };

  /** Appends the clicks to the spool; retries them if that fails. */
  const spoolClicks = async (batch: Batch): Promise<void> => {
    const appending = appendClicks(batch).then((areStored) => {
      if (!areStored) retryLater(batch);
    });
    inBackground(appending, spooling);
    await withTimeout(appending, DISK_WAIT_MS, () => undefined);
  };

  const settleClicks = async (batch: Batch, attempt: Promise<TransactionResult>, deadline: number): Promise<void> => {
    try {
      const { alreadyCounted } = await withinMs(attempt, Math.max(deadline - now(), ADD_MS_MIN), 'adding clicks');
      batch.clicks.forEach((click, index) => {
        click.succeed(alreadyCounted.get(index) ?? click.clickId);
      });
    } catch (err) {
      report(err);
      await spoolClicks(batch);
    }
  };

  return {
    async send(items) {
      const clicks = items.filter((item): item is ClickItem => item.type === 'click');
      const commits = items.filter((item): item is CommitItem => item.type === 'commit' && !item.isSettled);
      const deadline = now() + options.clickDeadlineMs;
      const { toRecord, viaRedis } =
        clicks.length === 0 ? { toRecord: clicks, viaRedis: false } : await routeClicks(clicks, deadline);
      const batch = buildBatch(nextMarker(), toRecord, commits);
      const withClicks = viaRedis && toRecord.length > 0;

      if (!withClicks && commits.length === 0) {
        await spoolClicks(batch);
        return;
      }
      const sentMs = now();
      const attempt = runTransaction(adder, planOf(batch, withClicks));
      if (commits.length > 0) inBackground(followCommits(batch, attempt, sentMs));
      await (withClicks ? settleClicks(batch, attempt, deadline) : spoolClicks(batch));
    },

    async close() {
      await Promise.all(spooling);
      const all = Promise.allSettled(background);
      await withinMs(all, CLOSE_WAIT_MS, 'sending the remaining batches').catch((err: unknown) => {
        if (!(err instanceof DeadlineError)) throw err;
      });
      closing.abort();
    },
  };
}
