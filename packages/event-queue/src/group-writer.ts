import { randomUUID } from 'node:crypto';
import { type EventTableKind, isInfrastructureError } from '@waymark/clickhouse';
import type { Redis } from 'ioredis';
import type { DeadLetter, DeadLetters } from './dead-letters.js';
import type { EventTable } from './event-table.js';
import { eventRowFault, type GroupRows, layOutRows } from './group-rows.js';
import { isRowJobId, jobIdTime } from './job-id.js';
import { type JobData, splitRows } from './job-rows.js';
import type { Manifest, NewGroup } from './manifest.js';
import type { Persistence } from './persistence.js';
import { rowsKey } from './queue-keys.js';
import type { QueueLogger } from './queue-logger.js';
import { rowKey } from './row-check.js';

/** A job as its worker got it. */
export interface WriterJob {
  readonly id: string;
  readonly data: JobData;
  /** Rows that came too late to be recorded (see claim-scripts.ts). */
  readonly struck: readonly number[];
}

export interface GroupWriterOptions {
  readonly kind: EventTableKind;
  readonly redis: Redis;
  readonly table: EventTable;
  readonly manifest: Manifest;
  readonly deadLetters: DeadLetters;
  readonly persistence: Persistence;
  readonly logger: QueueLogger;
  readonly now: () => number;
}

/** Writes groups of jobs of one kind and version. */
export interface GroupWriter {
  /** Resolves when every row of these jobs is in ClickHouse or parked, exactly once whatever happened before. */
  write(jobs: readonly WriterJob[]): Promise<void>;
}

/**
 * A job of this age may have been acknowledged so long ago that the manifest has forgotten it, so ClickHouse is asked first.
 * The manifest remembers five minutes longer, for clocks that disagree.
 */
const ASK_FIRST_AGE_MS = 10 * 60_000;
/**
 * After so many inserts a token may have left ClickHouse's window: 10,000 blocks a table, the busiest of which takes every
 * insert of all kinds, in two blocks around the turn of a year.
 */
const REPEATABLE_INSERTS = 4000;

/** One insert of a group, or of a part of it. */
interface Insertion {
  readonly group: NewGroup;
  readonly rows: readonly string[];
  readonly token: string;
  /** Somebody may have tried it before. */
  readonly isRepeat: boolean;
  /** Whether a refused insert is in ClickHouse nevertheless, judged by the rows that are not. */
  readonly hasLanded: (absent: readonly string[]) => boolean;
}

/** A ClickHouse error that is about the rows. Errors of the program are not: the rows are kept until it is mended. */
function isBadData(err: unknown): boolean {
  return !isInfrastructureError(err) && err instanceof Error && 'code' in err;
}

function messageOf(err: unknown): string {
  return err instanceof Error ? err.message : String(err);
}

/** The exactly-once write of event rows (architecture, section 5). */
export function createGroupWriter(options: GroupWriterOptions): GroupWriter {
  const { kind, redis, table, manifest, deadLetters, persistence, logger, now } = options;
  const { insist } = persistence;

  const readRows = (jobIds: readonly string[]) =>
    insist('reading rows', () => redis.mget(...jobIds.map((id) => rowsKey(kind, id))));

  const park = async (letters: readonly Omit<DeadLetter, 'kind' | 'at'>[]) => {
    if (letters.length === 0) return;
    // Not the error: ClickHouse quotes the row in it.
    logger.error({ kind, rows: letters.length, jobId: letters[0]?.jobId }, 'rows go to the dead letters');
    await insist('parking rows', () => deadLetters.park(letters.map((letter) => ({ ...letter, kind, at: now() }))));
  };

  const findPresent = (rows: readonly string[]) => insist('looking for rows', () => table.findPresent(rows));

  const absentOf = async (rows: readonly string[]) => {
    const present = await findPresent(rows);
    return rows.filter((row) => !present.has(rowKey(row)?.eventId ?? ''));
  };

  /** Is ClickHouse sure to recognise a repeat of this group's inserts? */
  const isRepeatable = async (groupId: string) => {
    const group = await insist('reading a group', () => manifest.read(groupId));
    const count = await insist('counting inserts', () => manifest.insertCount());
    return group !== undefined && count - group.insertsBefore < REPEATABLE_INSERTS;
  };

  /** A repeat whose token ClickHouse may have forgotten: only rows that are not there, under another token if some are. */
  const insertAbsent = async (insertion: Insertion): Promise<void> => {
    const { group, rows, token } = insertion;
    const absent = await absentOf(rows);
    logger.warn({ kind, token, rows: rows.length, absent: absent.length }, 'repeating an old insert by its rows');
    if (absent.length === 0) return;
    await table.insert(group.version, absent, absent.length === rows.length ? token : `${token}-rest`);
  };

  /** One insert, repeated in place while ClickHouse is away. Throws only when the rows themselves are refused. */
  const insert = async (insertion: Insertion): Promise<void> => {
    const { group, rows, token, isRepeat, hasLanded } = insertion;
    await insist(
      `inserting ${kind} rows`,
      async (attempt) => {
        try {
          if ((isRepeat || attempt > 0) && !(await isRepeatable(group.id))) await insertAbsent(insertion);
          else await table.insert(group.version, rows, token);
        } catch (err) {
          // What is in ClickHouse was no bad data: a view failed, and the repeat completes it.
          if (isBadData(err) && hasLanded(await absentOf(rows))) throw new Error('a view failed', { cause: err });
          throw err;
        }
      },
      (err) => !isBadData(err),
    );
  };

  const parkRow = async (group: NewGroup, rows: GroupRows, position: number, err: unknown) => {
    const row = rows.texts[position] ?? '';
    await park([{ ...rows.originOf(position), version: group.version, row, error: messageOf(err) }]);
  };

  /** Inserts a part of a refused group, halving it until the bad rows stand alone. The tokens are the same every time. */
  const insertPart = async (group: NewGroup, rows: GroupRows, from: number, to: number): Promise<void> => {
    if (from >= to) return;
    await insist('counting an insert', () => manifest.addInserts(1));
    try {
      await insert({
        group,
        rows: rows.texts.slice(from, to),
        token: `${group.id}-${from}-${to}`,
        isRepeat: true,
        // Some of a part may be there because smaller parts of it were inserted before a crash.
        hasLanded: (absent) => absent.length === 0,
      });
    } catch (err) {
      if (!isBadData(err)) throw err;
      if (to - from === 1) return parkRow(group, rows, from, err);
      await insertHalves(group, rows, from, to);
    }
  };

  const insertHalves = async (group: NewGroup, rows: GroupRows, from: number, to: number): Promise<void> => {
    const middle = Math.floor((from + to) / 2);
    await insertPart(group, rows, from, middle);
    await insertPart(group, rows, middle, to);
  };

  const insertWhole = async (group: NewGroup, rows: GroupRows, isRepeat: boolean): Promise<void> => {
    try {
      await insert({
        group,
        rows: rows.texts,
        token: group.id,
        isRepeat,
        hasLanded: (absent) => absent.length < rows.texts.length,
      });
    } catch (err) {
      if (!isBadData(err)) throw err;
      const { code } = err as { readonly code?: unknown };
      logger.warn({ code, kind, group: group.id, rows: rows.texts.length }, 'ClickHouse refuses a group: halving it');
      await insist('marking a group as split', () => manifest.markSplit(group.id));
      await insertHalves(group, rows, 0, rows.texts.length);
    }
  };

  const finish = async (group: NewGroup) => {
    await insist('acknowledging a group', () => manifest.acknowledge(group.id, group.jobIds));
  };

  const layOut = async (group: NewGroup, texts: readonly (string | null)[]): Promise<GroupRows> => {
    const rows = layOutRows(group, texts, eventRowFault(group.at));
    const { version } = group;
    await park(rows.faulty.map(({ jobId, index, row, fault }) => ({ jobId, index, version, row, error: fault })));
    return rows;
  };

  /** Finishes a group that someone has begun: the same rows in the same order under the same token. */
  const settle = async (groupId: string): Promise<void> => {
    const read = () => insist('reading a group', () => manifest.read(groupId));
    const group = await read();
    if (group === undefined || group.state === 'acknowledged') return;
    const texts = await readRows(group.jobIds);
    // Rows that are gone may mean that another writer has finished the group meanwhile.
    if (texts.includes(null) && (await read())?.state === 'acknowledged') return;
    const rows = await layOut(group, texts);
    if (rows.missing.length > 0)
      logger.error({ group: groupId, jobs: rows.missing }, 'rows of a job are gone from Redis');
    if (rows.texts.length > 0) {
      if (group.state === 'split') await insertHalves(group, rows, 0, rows.texts.length);
      else await insertWhole(group, rows, true);
    }
    await finish(group);
  };

  const settleAll = async (groupIds: readonly (string | undefined)[]) => {
    for (const groupId of new Set(groupIds)) if (groupId !== undefined) await settle(groupId);
  };

  /** Enters jobs as a new group and inserts it; those that turn out to be in a group already go with that one. */
  const writeNew = async (
    jobs: readonly WriterJob[],
    skippedOf: (job: WriterJob) => readonly number[],
  ): Promise<void> => {
    if (jobs.length === 0) return;
    const skipped: Record<string, readonly number[]> = {};
    jobs.forEach((job, member) => {
      const left = skippedOf(job);
      if (left.length > 0) skipped[member] = left;
    });
    const group: NewGroup = {
      id: randomUUID(),
      kind,
      version: jobs[0]?.data.v ?? 0,
      jobIds: jobs.map(({ id }) => id),
      skipped,
      at: now(),
    };
    const known = await insist('entering a group', () => manifest.begin(group));
    if (known !== undefined) {
      await settleAll(known);
      return writeNew(
        jobs.filter((_, index) => known[index] === undefined),
        skippedOf,
      );
    }
    const rows = await layOut(group, await readRows(group.jobIds));
    if (rows.missing.length > 0) logger.error({ group: group.id, jobs: rows.missing }, 'a job has no rows in Redis');
    if (rows.texts.length > 0) await insertWhole(group, rows, false);
    await finish(group);
  };

  /** Jobs that ClickHouse may have had for long: those of their rows that it has are left out. */
  const writeOld = async (jobs: readonly WriterJob[]): Promise<void> => {
    if (jobs.length === 0) return;
    const groups = await insist('looking up jobs', () => manifest.find(jobs.map(({ id }) => id)));
    await settleAll(groups);
    const unknown = jobs.filter((_, index) => groups[index] === undefined);
    if (unknown.length === 0) return;
    const texts = await readRows(unknown.map(({ id }) => id));
    const rows = new Map(unknown.map(({ id }, index) => [id, splitRows(texts[index] ?? '')]));
    const present = await findPresent([...rows.values()].flat());
    await writeNew(unknown, (job) => {
      const struck = new Set(job.struck);
      (rows.get(job.id) ?? []).forEach((row, index) => {
        if (present.has(rowKey(row)?.eventId ?? '')) struck.add(index);
      });
      return [...struck];
    });
  };

  const isOld = ({ id }: WriterJob): boolean => {
    const time = jobIdTime(id);
    return time === undefined || isRowJobId(id) || now() - time > ASK_FIRST_AGE_MS;
  };

  return {
    async write(jobs) {
      await writeNew(
        jobs.filter((job) => !isOld(job)),
        (job) => job.struck,
      );
      await writeOld(jobs.filter(isOld));
    },
  };
}
