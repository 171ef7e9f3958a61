import { isInfrastructureError } from '@waymark/clickhouse';
import { type EventTableKind, rowKey } from '@waymark/event-format';
import type { QueueLogger } from '../redis/throttled-log.js';
import type { EventTable } from './event-table.js';
import type { GroupRows } from './group-rows.js';
import type { Manifest, NewGroup } from './manifest.js';
import type { Persistence } from './retry.js';
import type { Inserted } from './write-report.js';

export interface GroupInserterOptions {
  readonly kind: EventTableKind;
  readonly table: EventTable;
  readonly manifest: Manifest;
  readonly persistence: Persistence;
  readonly logger: QueueLogger;
  /** Parks the row at that position of a group. */
  readonly parkRow: (group: NewGroup, rows: GroupRows, position: number, error: string) => Promise<void>;
}

/** Puts the rows of a group into ClickHouse, each once. */
export interface GroupInserter {
  /** As one insert. `isRepeat`: somebody may have tried before. Rows that ClickHouse refuses end up parked. */
  insertWhole(group: NewGroup, rows: GroupRows, isRepeat: boolean): Promise<Inserted>;
  /** A group that was refused as a whole, in ever smaller parts. */
  insertParts(group: NewGroup, rows: GroupRows, isRepeat: boolean): Promise<Inserted>;
}

/** One insert of a group, or of a part of it. */
interface Insertion {
  readonly group: NewGroup;
  readonly rows: readonly string[];
  readonly token: string;
  readonly isRepeat: boolean;
  /** Whether a refused insert is in ClickHouse nevertheless, judged by the rows that are not. */
  readonly hasLanded: (absent: readonly string[]) => boolean;
}

/** A group that is inserted in parts. */
interface SplitGroup {
  readonly group: NewGroup;
  readonly rows: GroupRows;
  readonly isRepeat: boolean;
  inserts: number;
  attempts: number;
  parked: number;
}

/**
 * After so many inserts a token may have left ClickHouse's window: 10,000 blocks a table, the busiest of which takes every
 * insert of all kinds, in two blocks around the turn of a year.
 */
const REPEATABLE_INSERTS = 4000;

/** A ClickHouse error that is about the rows. Errors of the program are not: the rows are kept until it is mended. */
export function isBadData(err: unknown): boolean {
  return !isInfrastructureError(err) && err instanceof Error && 'code' in err;
}

export function createGroupInserter(options: GroupInserterOptions): GroupInserter {
  const { kind, table, manifest, logger } = options;
  const { insist } = options.persistence;

  const absentOf = async (rows: readonly string[]) => {
    const present = await insist('looking for rows', () => table.findPresent(rows));
    return rows.filter((row) => !present.has(rowKey(row)?.eventId ?? ''));
  };

  /** Is ClickHouse sure to recognise a repeat of this group's inserts? */
  const isRepeatable = async (groupId: string) => {
    const group = await insist('reading a group', () => manifest.read(groupId));
    const count = await insist('counting inserts', () => manifest.insertCount());
    return group !== undefined && count - group.insertsBefore < REPEATABLE_INSERTS;
  };

  /** A repeat whose token ClickHouse may have forgotten: only rows that are not there, under another token if some are. */
  const insertAbsent = async ({ group, rows, token }: Insertion): Promise<void> => {
    const absent = await absentOf(rows);
    logger.warn({ kind, token, rows: rows.length, absent: absent.length }, 'repeating an old insert by its rows');
    if (absent.length === 0) return;
    await table.insert(group.version, absent, absent.length === rows.length ? token : `${token}-rest`);
  };

  /** One insert, repeated in place while ClickHouse is away. Throws only when the rows themselves are refused. Answers the attempts. */
  const insert = (insertion: Insertion): Promise<number> => {
    const { group, rows, token, isRepeat, hasLanded } = insertion;
    return insist(
      `inserting ${kind} rows`,
      async (attempt) => {
        try {
          if ((isRepeat || attempt > 0) && !(await isRepeatable(group.id))) await insertAbsent(insertion);
          else await table.insert(group.version, rows, token);
          return attempt + 1;
        } catch (err) {
          // What is in ClickHouse was no bad data: a view failed, and the repeat completes it.
          if (isBadData(err) && hasLanded(await absentOf(rows))) throw new Error('a view failed', { cause: err });
          throw err;
        }
      },
      (err) => !isBadData(err),
    );
  };

  /** The tokens of parts are the same every time, so that a repeat after a crash repeats exactly these inserts. */
  const insertPart = async (split: SplitGroup, from: number, to: number): Promise<void> => {
    if (from >= to) return;
    const { group, rows, isRepeat } = split;
    split.inserts += 1;
    try {
      split.attempts += await insert({
        group,
        rows: rows.texts.slice(from, to),
        token: `${group.id}-${from}-${to}`,
        isRepeat,
        // Some of a part may be there because smaller parts of it were inserted before a crash.
        hasLanded: (absent) => absent.length === 0,
      });
    } catch (err) {
      if (!isBadData(err)) throw err;
      split.attempts += 1;
      if (to - from > 1) await insertHalves(split, from, to);
      else {
        split.parked += 1;
        await options.parkRow(group, rows, from, err instanceof Error ? err.message : String(err));
      }
    }
  };

  const insertHalves = async (split: SplitGroup, from: number, to: number): Promise<void> => {
    const middle = Math.floor((from + to) / 2);
    await insertPart(split, from, middle);
    await insertPart(split, middle, to);
  };

  const insertParts: GroupInserter['insertParts'] = async (group, rows, isRepeat) => {
    const split: SplitGroup = { group, rows, isRepeat, inserts: 0, attempts: 0, parked: 0 };
    await insertHalves(split, 0, rows.texts.length);
    await insist('counting inserts', () => manifest.addInserts(split.inserts));
    return { attempts: split.attempts, isSplit: true, parked: split.parked };
  };

  return {
    insertParts,

    async insertWhole(group, rows, isRepeat) {
      const hasLanded = (absent: readonly string[]) => absent.length < rows.texts.length;
      try {
        const attempts = await insert({ group, rows: rows.texts, token: group.id, isRepeat, hasLanded });
        return { attempts, isSplit: false, parked: 0 };
      } catch (err) {
        if (!isBadData(err)) throw err;
        const { code } = err as { readonly code?: unknown };
        logger.warn({ code, kind, group: group.id, rows: rows.texts.length }, 'ClickHouse refuses a group: halving it');
        await insist('marking a group as split', () => manifest.markSplit(group.id));
        const parts = await insertParts(group, rows, isRepeat);
        return { ...parts, attempts: parts.attempts + 1 };
      }
    },
  };
}
