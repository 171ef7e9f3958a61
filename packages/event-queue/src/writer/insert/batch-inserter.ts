import { type EventTableKind, rowKey } from '@waymark/event-format';
import { REPEATABLE_INSERTS } from '../../queue/insert-counts.js';
import { FEW_INSERTS_MS } from '../../queue/inserts-elsewhere.js';
import type { InsertedBatch } from '../../queue/webhook-jobs.js';
import type { QueueLogger } from '../../redis/throttled-log.js';
import type { BatchRows } from '../batch-rows.js';
import type { EventTable } from '../event-table.js';
import type { Manifest, NewInsertBatch } from '../manifest.js';
import type { Retry } from '../retry.js';
import type { Inserted } from '../write-report.js';
import { isBadData } from './bad-data.js';
import { bisectHalves } from './bisect.js';

export interface BatchInserterOptions {
  readonly kind: EventTableKind;
  readonly table: EventTable;
  readonly manifest: Pick<Manifest, 'read' | 'insertsSince' | 'addInserts' | 'markSplit'>;
  readonly retry: Retry;
  readonly logger: QueueLogger;
  readonly now: () => number;
  /** Called before each attempt to insert rows, and awaited. By default nothing is done. */
  readonly onInserting?: ((batch: InsertedBatch) => Promise<void>) | undefined;
  /** Parks the row at that position of a batch as a dead letter. */
  readonly parkRow: (batch: NewInsertBatch, rows: BatchRows, position: number, error: string) => Promise<void>;
}

/** Inserts the rows of a batch into ClickHouse, each exactly once. Rows that ClickHouse refuses are parked. */
export interface BatchInserter {
  /**
   * Inserts the batch as a whole, and in parts if ClickHouse refuses it.
   *
   * @param isRepeat whether another attempt may have been made before, by this writer or another
   */
  insertWhole(batch: NewInsertBatch, rows: BatchRows, isRepeat: boolean): Promise<Inserted>;
  /** Inserts a batch that was refused as a whole, by bisection. */
  insertParts(batch: NewInsertBatch, rows: BatchRows, isRepeat: boolean): Promise<Inserted>;
}

/** One insert: of a whole batch, or of a part of it. */
interface Insertion {
  readonly batch: NewInsertBatch;
  readonly rows: readonly string[];
  readonly token: string;
  readonly isRepeat: boolean;
  /**
   * Whether some of its rows may be stored under another token: one shard may have accepted a larger part that another shard refused, or an
   * earlier attempt may have stored smaller parts.
   */
  readonly mayBeStored: boolean;
  /** Whether ClickHouse has stored the rows although the insert failed. @param absent the rows that the table lacks */
  readonly hasLanded: (absent: readonly string[]) => boolean;
}

export function createBatchInserter(options: BatchInserterOptions): BatchInserter {
  const { kind, table, manifest, retry, logger, now } = options;

  /**
   * The rows that the table lacks. If it has some of them, those that it seemed to lack are looked up again: a running insert may have stored
   * all of them between two reads.
   */
  const findAbsent = async (rows: readonly string[]) => {
    let absent = rows;
    for (let looked = 0; absent.length > 0 && absent.length !== looked; ) {
      looked = absent.length;
      const present = await retry('finding rows', () => table.findPresent(absent));
      absent = absent.filter((row) => !present.has(rowKey(row)?.eventId ?? ''));
    }
    return absent;
  };

  /** Whether ClickHouse certainly still has the deduplication tokens of this batch, on the shards to which its rows belong now. */
  const isRepeatable = async (batchId: string, since: number) => {
    if (await retry('looking for moved rows', () => table.hasMovedSince(since))) return false;
    const batch = await retry('reading a batch', () => manifest.read(batchId));
    if (batch === undefined) return false;
    return (await retry('counting inserts', () => manifest.insertsSince(batch))) < REPEATABLE_INSERTS;
  };

  /** Repeats an insert whose token may have expired, with the absent rows only. */
  const insertAbsent = async ({ batch, rows, token }: Insertion): Promise<void> => {
    const absent = await findAbsent(rows);
    logger.warn(
      { kind, token, rows: rows.length, absent: absent.length },
      'repeating an old insert: inserting only its absent rows',
    );
    if (absent.length === 0) return;
    await table.insert(batch.version, rows, token, new Set(absent));
  };

  /**
   * Inserts, with retries while ClickHouse is unavailable.
   *
   * @returns the number of attempts
   * @throws only if ClickHouse refuses the rows, or the writer stops
   */
  const insert = (insertion: Insertion): Promise<number> => {
    const { batch, rows, token, isRepeat, hasLanded } = insertion;
    return retry(
      `inserting ${kind} rows`,
      async (attempt) => {
        try {
          await options.onInserting?.({ kind, batchId: batch.id, rows });
          // If this process was suspended after it began the batch, another writer may have completed it long ago.
          const mayRepeat = isRepeat || attempt > 0 || now() - batch.at > FEW_INSERTS_MS;
          if (insertion.mayBeStored || (mayRepeat && !(await isRepeatable(batch.id, batch.at))))
            await insertAbsent(insertion);
          else await table.insert(batch.version, rows, token);
          return attempt + 1;
        } catch (err) {
          // ClickHouse has the rows, so they are valid and a materialized view has failed. The retry completes the insert.
          if (isBadData(err) && hasLanded(await findAbsent(rows))) throw new Error('a view failed', { cause: err });
          throw err;
        }
      },
      (err) => !isBadData(err),
    );
  };

  const insertParts: BatchInserter['insertParts'] = async (batch, rows, isRepeat) => {
    const bisection = {
      /** The token is derived from the batch and the positions, so that a repeat after a crash repeats exactly this insert. */
      insert: (from: number, to: number) =>
        insert({
          batch,
          rows: rows.texts.slice(from, to),
          token: `${batch.id}-${from}-${to}`,
          isRepeat,
          // An earlier attempt may have gone on to smaller parts, because ClickHouse refused what it accepts now.
          mayBeStored: table.isSharded || isRepeat,
          // All rows, not only some: before a crash, smaller parts of this one may have been inserted.
          hasLanded: (absent) => absent.length === 0,
        }),
      park: (position: number, error: string) => options.parkRow(batch, rows, position, error),
    };
    const { parts, ...inserted } = await bisectHalves(bisection, 0, rows.texts.length);
    await retry('counting inserts', () => manifest.addInserts(parts));
    return inserted;
  };

  return {
    insertParts,

    async insertWhole(batch, rows, isRepeat) {
      // A node that refuses a batch stores none of its rows, so one present row shows that it accepted all. Shards accept or refuse apart.
      const hasLanded = (absent: readonly string[]) =>
        table.isSharded ? absent.length === 0 : absent.length < rows.texts.length;
      try {
        const attempts = await insert({
          batch,
          rows: rows.texts,
          token: batch.id,
          isRepeat,
          hasLanded,
          mayBeStored: false,
        });
        return { attempts, isSplit: false, parked: 0 };
      } catch (err) {
        if (!isBadData(err)) throw err;
        const { code } = err as { readonly code?: unknown };
        logger.warn(
          { code, kind, batch: batch.id, rows: rows.texts.length },
          'ClickHouse refuses a batch: bisecting it',
        );
        await retry('marking a batch as split', () => manifest.markSplit(batch.id));
        const inserted = await insertParts(batch, rows, isRepeat);
        return { ...inserted, attempts: inserted.attempts + 1 };
      }
    },
  };
}
