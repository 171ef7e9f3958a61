import { randomUUID } from 'node:crypto';
import { type EventTableKind, rowKey } from '@waymark/event-format';
import type { Redis } from 'ioredis';
import type { DeadLetter, DeadLetters } from '../queue/dead-letters.js';
import { isRowJobId, jobIdTime } from '../queue/job-id.js';
import { isSilentRow, type JobData, splitRows } from '../queue/job-rows.js';
import { rowsKey } from '../queue/keys.js';
import type { InsertedBatch, PlanWebhookJobs } from '../queue/webhook-jobs.js';
import { isOutOfMemory } from '../redis/connection.js';
import type { QueueLogger } from '../redis/throttled-log.js';
import type { TailPublisher } from '../tail/tail-publisher.js';
import { type BatchRows, eventRowFault, layOutRows } from './batch-rows.js';
import type { EventTable } from './event-table.js';
import { createBatchInserter } from './insert/batch-inserter.js';
import type { Manifest, NewInsertBatch } from './manifest.js';
import type { Retry } from './retry.js';
import { type Inserted, reportOf, type WriteReport } from './write-report.js';

/** A job that the queue worker has taken. */
export interface WriterJob {
  readonly id: string;
  readonly data: JobData;
  /** Indexes of the rows that the job's transaction discarded (see claim-scripts.ts). */
  readonly discarded: readonly number[];
  /** Whether this or another worker has taken it before. */
  readonly isRedelivered: boolean;
  /** When it was added to the queue, the last time if several times, epoch milliseconds by the clock of the process that added it. */
  readonly addedMs: number;
  /** When the worker took it, epoch milliseconds. */
  readonly receivedMs: number;
}

export interface BatchWriterOptions {
  readonly kind: EventTableKind;
  readonly redis: Redis;
  readonly table: EventTable;
  readonly manifest: Manifest;
  readonly deadLetters: DeadLetters;
  readonly retry: Retry;
  readonly tails: TailPublisher;
  /** Returns the webhook jobs for a batch; by default there are none. */
  readonly webhookJobsOf?: PlanWebhookJobs | undefined;
  /** Called before each attempt to insert rows of a batch, and awaited: their totals are about to change. */
  readonly onInserting?: ((batch: InsertedBatch) => Promise<void>) | undefined;
  /** Called after each insert, also after a repeated one, and awaited before the acknowledgement: cached totals are stale from here on. */
  readonly onInserted?: ((batch: InsertedBatch) => Promise<void>) | undefined;
  /** Called after a batch is inserted and acknowledged. */
  readonly onStored?: ((report: WriteReport) => void) | undefined;
  readonly logger: QueueLogger;
  readonly now: () => number;
}

/** Writes batches of jobs of one kind and version. */
export interface BatchWriter {
  /**
   * Resolves when every row of these jobs is in ClickHouse or parked, exactly once, whatever earlier attempts have done. The list may
   * contain a job twice: BullMQ delivers a job again if its writer was too busy to renew the job's lock.
   *
   * @throws StoppedError when the writer stops before that
   */
  write(jobs: readonly WriterJob[]): Promise<void>;
}

/** Returns for each job of a batch the indexes of its rows that are not to be inserted. */
type SkippedOf = (jobs: readonly WriterJob[]) => readonly (readonly number[])[];

/**
 * A job that is older than this may have been written although its manifest entry has expired, so its rows are looked up in ClickHouse before
 * the insert. Entries live five minutes longer than this, to allow for differences between clocks.
 */
const LOOK_UP_FIRST_AGE_MS = 10 * 60_000;
/**
 * The same for a job that was added this long after it was created, such as from a spool. It does not depend on the clock of the writer: the
 * clocks of two producers may differ by ten minutes.
 */
const LOOK_UP_FIRST_DELAY_MS = 5 * 60_000;

/** Writes event rows exactly once. */
export function createBatchWriter(options: BatchWriterOptions): BatchWriter {
  const { kind, redis, table, manifest, deadLetters, retry, tails, logger, now } = options;

  const readRows = (jobIds: readonly string[]) =>
    retry('reading rows', () => redis.mget(...jobIds.map((id) => rowsKey(kind, id))));

  const park = async (letters: readonly Omit<DeadLetter, 'kind' | 'at'>[]) => {
    if (letters.length === 0) return;
    // The error is not logged, because ClickHouse quotes the row in it.
    logger.error({ kind, rows: letters.length, jobId: letters[0]?.jobId }, 'moving rows to the dead-letter queue');
    await retry('parking rows', () => deadLetters.park(letters.map((letter) => ({ ...letter, kind, at: now() }))));
  };

  const inserter = createBatchInserter({
    ...options,
    parkRow: (batch, rows, position, error) =>
      park([{ ...rows.originOf(position), version: batch.version, row: rows.texts[position] ?? '', error }]),
  });

  /** Joins the rows of a batch in the order of the manifest, and parks the invalid ones. */
  const layOut = async (batch: NewInsertBatch, texts: readonly (string | null)[]): Promise<BatchRows> => {
    const rows = layOutRows(batch, texts, eventRowFault(batch.at));
    const { version } = batch;
    await park(rows.faulty.map(({ jobId, index, row, fault }) => ({ jobId, index, version, row, error: fault })));
    return rows;
  };

  /** Acknowledges a batch, together with its webhook jobs, and publishes its ids to the workspaces that have streams. */
  const acknowledge = async (batch: NewInsertBatch, { texts }: BatchRows) => {
    const { webhookJobsOf } = options;
    const notSilent = webhookJobsOf === undefined ? [] : texts.filter((row) => !isSilentRow(row));
    const webhookJobs =
      webhookJobsOf === undefined || notSilent.length === 0
        ? []
        : await retry('finding webhooks', () => webhookJobsOf({ kind, batchId: batch.id, rows: notSilent }));
    await retry('acknowledging a batch', async () => {
      try {
        const acknowledgement = { batchId: batch.id, jobIds: batch.jobIds, webhookJobs };
        await tails.publish(kind, texts, (publication) => manifest.acknowledge({ ...acknowledgement, publication }));
      } catch (err) {
        // Redis is full. ClickHouse has the rows, so they are deleted from Redis, and the retry finds memory.
        if (isOutOfMemory(err)) await redis.unlink(...batch.jobIds.map((id) => rowsKey(kind, id)));
        throw err;
      }
    });
  };

  /** Inserts the rows of a batch into ClickHouse, acknowledges it and reports it. */
  const insertAndAcknowledge = async (
    batch: NewInsertBatch,
    rows: BatchRows,
    gatherMs: number,
    insertRows: () => Promise<Inserted>,
  ): Promise<void> => {
    const since = now();
    const inserted = rows.texts.length === 0 ? { attempts: 0, isSplit: false, parked: 0 } : await insertRows();
    const storedMs = now();
    await options.onInserted?.({ kind, batchId: batch.id, rows: rows.texts });
    await acknowledge(batch, rows);
    options.onStored?.(reportOf(kind, rows, inserted, { gatherMs, since, storedMs }));
  };

  /**
   * Completes a batch that this writer or another began: inserts the same rows in the same order under the same token, unless
   * the batch is acknowledged.
   *
   * @returns false if the batch is no longer in the manifest
   */
  const completeBatch = async (batchId: string): Promise<boolean> => {
    const read = () => retry('reading a batch', () => manifest.read(batchId));
    const batch = await read();
    if (batch === undefined) return false;
    if (batch.state === 'acknowledged') return true;
    const texts = await readRows(batch.jobIds);
    // Missing rows may mean that another writer has completed the batch meanwhile.
    if (texts.includes(null) && (await read())?.state === 'acknowledged') return true;
    const rows = await layOut(batch, texts);
    if (rows.missing.length > 0) {
      logger.warn({ batch: batchId, jobs: rows.missing }, 'completing a batch without the rows of some jobs');
    }
    await insertAndAcknowledge(batch, rows, 0, () =>
      batch.state === 'split' ? inserter.insertParts(batch, rows, true) : inserter.insertWhole(batch, rows, true),
    );
    return true;
  };

  /** Completes the batches to which some of the jobs belong, and returns the jobs that belong to none. */
  const completeRecorded = async (jobs: readonly WriterJob[], batchIds: readonly (string | undefined)[]) => {
    const expired = new Set<string>();
    for (const batchId of new Set(batchIds)) {
      if (batchId !== undefined && !(await completeBatch(batchId))) expired.add(batchId);
    }
    const orphans = jobs.filter((_, index) => expired.has(batchIds[index] ?? ''));
    if (orphans.length > 0) {
      logger.error(
        { jobs: orphans.length },
        'jobs belong to batches that have expired: checking their rows in ClickHouse',
      );
      await retry('removing jobs from the manifest', () => manifest.removeJobs(orphans.map(({ id }) => id)));
      await writeOld(orphans);
    }
    return jobs.filter((_, index) => batchIds[index] === undefined);
  };

  const newBatch = (jobs: readonly WriterJob[], skippedOf: SkippedOf): NewInsertBatch => {
    const skipped: Record<string, readonly number[]> = {};
    skippedOf(jobs).forEach((indexes, member) => {
      if (indexes.length > 0) skipped[member] = indexes;
    });
    const version = jobs[0]?.data.v ?? 0;
    return { id: randomUUID(), kind, version, jobIds: jobs.map(({ id }) => id), skipped, at: now() };
  };

  /** Writes jobs as a new batch. If some of them belong to another batch already, that one is completed first. */
  const writeNew = async (jobs: readonly WriterJob[], skippedOf: SkippedOf): Promise<void> => {
    if (jobs.length === 0) return;
    const batch = newBatch(jobs, skippedOf);
    const gatherMs = batch.at - Math.min(...jobs.map(({ receivedMs }) => receivedMs));
    const batchIds = await retry('adding a batch to the manifest', () => manifest.begin(batch));
    if (batchIds !== undefined) return writeNew(await completeRecorded(jobs, batchIds), skippedOf);
    const rows = await layOut(batch, await readRows(batch.jobIds));
    if (rows.missing.length > 0) logger.error({ batch: batch.id, jobs: rows.missing }, 'jobs have no rows in Redis');
    await insertAndAcknowledge(batch, rows, gatherMs, () => inserter.insertWhole(batch, rows, false));
  };

  /** Writes jobs whose manifest entry may have expired: rows that ClickHouse has are skipped. */
  async function writeOld(jobs: readonly WriterJob[]): Promise<void> {
    if (jobs.length === 0) return;
    const batchIds = await retry('finding the batches of jobs', () => manifest.find(jobs.map(({ id }) => id)));
    const unrecorded = await completeRecorded(jobs, batchIds);
    if (unrecorded.length === 0) return;
    const texts = await readRows(unrecorded.map(({ id }) => id));
    const rows = new Map(unrecorded.map(({ id }, index) => [id, splitRows(texts[index] ?? '')]));
    const faultOf = eventRowFault(now());
    // Only valid rows: a forged time would widen the search to a century.
    const valid = [...rows.values()].flat().filter((row) => faultOf(row) === undefined);
    const present = await retry('finding rows', () => table.findPresent(valid));
    await writeNew(unrecorded, (members) => {
      // Two jobs may have the same row, such as one that a process of an earlier release has restored from its spool.
      const taken = new Set(present);
      return members.map(({ id, discarded }) => {
        const skipped = new Set(discarded);
        (rows.get(id) ?? []).forEach((row, index) => {
          const { eventId } = rowKey(row) ?? {};
          if (eventId === undefined || skipped.has(index)) return;
          if (taken.has(eventId)) skipped.add(index);
          else if (faultOf(row) === undefined) taken.add(eventId);
        });
        return [...skipped];
      });
    });
  }

  /**
   * Whether the job's rows may have been written although the manifest has no entry of the job, so that they are looked up in ClickHouse. That
   * may be so for an old job; for the replay of a dead letter, because another replay deletes the entry; and for a job that was taken before,
   * because its entry expires early when the clock of Redis was behind and is put right.
   */
  const needsLookUp = ({ id, isRedelivered, addedMs }: WriterJob): boolean => {
    const time = jobIdTime(id);
    if (isRedelivered || time === undefined || isRowJobId(id)) return true;
    // A negative delay shows that a clock was set back since.
    return now() - time > LOOK_UP_FIRST_AGE_MS || Math.abs(addedMs - time) > LOOK_UP_FIRST_DELAY_MS;
  };

  return {
    async write(jobs) {
      const distinct = [...new Map(jobs.map((job) => [job.id, job])).values()];
      await writeNew(
        distinct.filter((job) => !needsLookUp(job)),
        (members) => members.map(({ discarded }) => discarded),
      );
      await writeOld(distinct.filter(needsLookUp));
    },
  };
}
