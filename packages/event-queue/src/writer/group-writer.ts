import { randomUUID } from 'node:crypto';
import { type EventTableKind, rowKey } from '@waymark/event-format';
import type { Redis } from 'ioredis';
import type { DeadLetter, DeadLetters } from '../queue/dead-letters.js';
import { isRowJobId, jobIdTime } from '../queue/job-id.js';
import { isToldRow, type JobData, splitRows } from '../queue/job-rows.js';
import { rowsKey } from '../queue/keys.js';
import type { WebhookJobsOf, WrittenGroup } from '../queue/webhook-jobs.js';
import { isOutOfMemory } from '../redis/connection.js';
import type { QueueLogger } from '../redis/throttled-log.js';
import type { EventTable } from './event-table.js';
import { createGroupInserter } from './group-inserter.js';
import { eventRowFault, type GroupRows, layOutRows } from './group-rows.js';
import type { Manifest, NewGroup } from './manifest.js';
import type { Persistence } from './retry.js';
import { type Inserted, outcomeOf, type StoredGroup, workspaceShares } from './write-report.js';

/** A job as its worker got it. */
export interface WriterJob {
  readonly id: string;
  readonly data: JobData;
  /** Rows that came too late to be recorded (see claim-scripts.ts). */
  readonly struck: readonly number[];
  /** When its worker got it, epoch milliseconds. */
  readonly receivedAt: number;
}

export interface GroupWriterOptions {
  readonly kind: EventTableKind;
  readonly redis: Redis;
  readonly table: EventTable;
  readonly manifest: Manifest;
  readonly deadLetters: DeadLetters;
  readonly persistence: Persistence;
  /** What follows an insert; nothing unless given. */
  readonly webhookJobsOf?: WebhookJobsOf | undefined;
  /** Told of the rows of every insert, as soon as ClickHouse has them; of those of a repeated one again. */
  readonly onInserted?: ((group: WrittenGroup) => void) | undefined;
  /** Told of every group that is stored and acknowledged. */
  readonly onStored?: ((group: StoredGroup) => void) | undefined;
  readonly logger: QueueLogger;
  readonly now: () => number;
}

/** Writes groups of jobs of one kind and version. */
export interface GroupWriter {
  /**
   * Resolves when every row of these jobs is in ClickHouse or parked, exactly once whatever happened before. A job may be
   * among them more than once: a writer too busy to renew a lock is given the job again that it still holds.
   */
  write(jobs: readonly WriterJob[]): Promise<void>;
}

/** Which rows of a job are not to be inserted. */
type SkippedOf = (job: WriterJob) => readonly number[];

/**
 * A job of this age may have been acknowledged so long ago that its entry in the manifest has expired, so ClickHouse is queried first.
 * The manifest keeps entries five minutes longer, for clocks that differ.
 */
const ASK_FIRST_AGE_MS = 10 * 60_000;

/** The exactly-once write of event rows. */
export function createGroupWriter(options: GroupWriterOptions): GroupWriter {
  const { kind, redis, table, manifest, deadLetters, logger, now } = options;
  const { insist } = options.persistence;

  const readRows = (jobIds: readonly string[]) =>
    insist('reading rows', () => redis.mget(...jobIds.map((id) => rowsKey(kind, id))));

  const park = async (letters: readonly Omit<DeadLetter, 'kind' | 'at'>[]) => {
    if (letters.length === 0) return;
    // Not the error: ClickHouse quotes the row in it.
    logger.error({ kind, rows: letters.length, jobId: letters[0]?.jobId }, 'rows go to the dead letters');
    await insist('parking rows', () => deadLetters.park(letters.map((letter) => ({ ...letter, kind, at: now() }))));
  };

  const inserter = createGroupInserter({
    ...options,
    parkRow: (group, rows, position, error) =>
      park([{ ...rows.originOf(position), version: group.version, row: rows.texts[position] ?? '', error }]),
  });

  const layOut = async (group: NewGroup, texts: readonly (string | null)[]): Promise<GroupRows> => {
    const rows = layOutRows(group, texts, eventRowFault(group.at));
    const { version } = group;
    await park(rows.faulty.map(({ jobId, index, row, fault }) => ({ jobId, index, version, row, error: fault })));
    return rows;
  };

  const finish = async (group: NewGroup, { texts }: GroupRows) => {
    const { webhookJobsOf } = options;
    const told = webhookJobsOf === undefined ? [] : texts.filter(isToldRow);
    const webhookJobs =
      webhookJobsOf === undefined || told.length === 0
        ? []
        : await insist('looking for webhooks', () => webhookJobsOf({ kind, groupId: group.id, rows: told }));
    await insist('acknowledging a group', async () => {
      try {
        if (webhookJobs.length === 0) await manifest.acknowledge(group.id, group.jobIds);
        else await manifest.acknowledgeWith(group.id, group.jobIds, webhookJobs);
      } catch (err) {
        // ClickHouse has the rows, and a repeat without them is dropped by its token: at its limit Redis gets their room.
        if (isOutOfMemory(err)) await redis.unlink(...group.jobIds.map((id) => rowsKey(kind, id)));
        throw err;
      }
    });
  };

  /** Inserts the rows of a group into ClickHouse, acknowledges it and publishes it. */
  const insertAndFinish = async (
    group: NewGroup,
    rows: GroupRows,
    gatherMs: number,
    insertRows: () => Promise<Inserted>,
  ): Promise<void> => {
    const since = now();
    const inserted = rows.texts.length === 0 ? { attempts: 0, isSplit: false, parked: 0 } : await insertRows();
    const storedAt = now();
    options.onInserted?.({ kind, groupId: group.id, rows: rows.texts });
    await finish(group, rows);
    options.onStored?.({
      kind,
      outcome: outcomeOf({ ...inserted, parked: inserted.parked + rows.faulty.length }),
      rows: rows.texts.length,
      bytes: rows.texts.reduce((sum, text) => sum + text.length, 0),
      attempts: inserted.attempts,
      gatherMs,
      insertMs: storedAt - since,
      storedAt,
      workspaces: workspaceShares(rows.texts, storedAt),
    });
  };

  /** Finishes a group that someone has begun: the same rows in the same order under the same token. False: it is gone. */
  const settle = async (groupId: string): Promise<boolean> => {
    const read = () => insist('reading a group', () => manifest.read(groupId));
    const group = await read();
    if (group === undefined) return false;
    if (group.state === 'acknowledged') return true;
    const texts = await readRows(group.jobIds);
    // Rows that are gone may mean that another writer has finished the group meanwhile.
    if (texts.includes(null) && (await read())?.state === 'acknowledged') return true;
    const rows = await layOut(group, texts);
    if (rows.missing.length > 0) logger.warn({ group: groupId, jobs: rows.missing }, 'finishing a group without rows');
    await insertAndFinish(group, rows, 0, () =>
      group.state === 'split' ? inserter.insertParts(group, rows, true) : inserter.insertWhole(group, rows, true),
    );
    return true;
  };

  /** Settles the groups that some of the jobs are in. Answers the jobs that are in none. */
  const settleKnown = async (jobs: readonly WriterJob[], groups: readonly (string | undefined)[]) => {
    const gone = new Set<string>();
    for (const groupId of new Set(groups)) {
      if (groupId !== undefined && !(await settle(groupId))) gone.add(groupId);
    }
    const orphans = jobs.filter((_, index) => gone.has(groups[index] ?? ''));
    if (orphans.length > 0) {
      logger.error({ jobs: orphans.length }, 'a manifest names groups that are gone: asking ClickHouse for the rows');
      await insist('forgetting jobs', () => manifest.forget(orphans.map(({ id }) => id)));
      await writeOld(orphans);
    }
    return jobs.filter((_, index) => groups[index] === undefined);
  };

  const newGroup = (jobs: readonly WriterJob[], skippedOf: SkippedOf): NewGroup => {
    const skipped: Record<string, readonly number[]> = {};
    jobs.forEach((job, member) => {
      const left = skippedOf(job);
      if (left.length > 0) skipped[member] = left;
    });
    const version = jobs[0]?.data.v ?? 0;
    return { id: randomUUID(), kind, version, jobIds: jobs.map(({ id }) => id), skipped, at: now() };
  };

  /** Enters jobs as a new group and inserts it; those that turn out to be in a group already go with that one. */
  const writeNew = async (jobs: readonly WriterJob[], skippedOf: SkippedOf): Promise<void> => {
    if (jobs.length === 0) return;
    const group = newGroup(jobs, skippedOf);
    const gatherMs = group.at - Math.min(...jobs.map(({ receivedAt }) => receivedAt));
    const known = await insist('entering a group', () => manifest.begin(group));
    if (known !== undefined) return writeNew(await settleKnown(jobs, known), skippedOf);
    const rows = await layOut(group, await readRows(group.jobIds));
    if (rows.missing.length > 0) logger.error({ group: group.id, jobs: rows.missing }, 'a job has no rows in Redis');
    await insertAndFinish(group, rows, gatherMs, () => inserter.insertWhole(group, rows, false));
  };

  /** Jobs that ClickHouse may have had for long: those of their rows that it has are left out. */
  async function writeOld(jobs: readonly WriterJob[]): Promise<void> {
    if (jobs.length === 0) return;
    const groups = await insist('looking up jobs', () => manifest.find(jobs.map(({ id }) => id)));
    const unknown = await settleKnown(jobs, groups);
    if (unknown.length === 0) return;
    const texts = await readRows(unknown.map(({ id }) => id));
    const rows = new Map(unknown.map(({ id }, index) => [id, splitRows(texts[index] ?? '')]));
    const faultOf = eventRowFault(now());
    // A forged time would widen the search to a century.
    const sought = [...rows.values()].flat().filter((row) => faultOf(row) === undefined);
    const present = await insist('looking for rows', () => table.findPresent(sought));
    await writeNew(unknown, (job) => {
      const skipped = new Set(job.struck);
      (rows.get(job.id) ?? []).forEach((row, index) => {
        if (present.has(rowKey(row)?.eventId ?? '')) skipped.add(index);
      });
      return [...skipped];
    });
  }

  const isOld = ({ id }: WriterJob): boolean => {
    const time = jobIdTime(id);
    return time === undefined || isRowJobId(id) || now() - time > ASK_FIRST_AGE_MS;
  };

  return {
    async write(jobs) {
      const distinct = [...new Map(jobs.map((job) => [job.id, job])).values()];
      await writeNew(
        distinct.filter((job) => !isOld(job)),
        (job) => job.struck,
      );
      await writeOld(distinct.filter(isOld));
    },
  };
}
