import { rowKey } from '@waymark/event-format';
import { splitRows } from '../queue/job-rows.js';
import type { NewInsertBatch } from './manifest.js';
import { rowFault } from './row-check.js';

/** An invalid row, which is parked as a dead letter instead of being inserted, with its job and its index there. */
export interface FaultyRow {
  readonly jobId: string;
  readonly index: number;
  readonly row: string;
  readonly fault: string;
}

/** The rows of one insert batch, in the order of the insert. */
export interface BatchRows {
  /** The valid rows, JSON. */
  readonly texts: readonly string[];
  /** The job, and the index in it, of the row at that position of `texts`. */
  originOf(position: number): { readonly jobId: string; readonly index: number };
  readonly faulty: readonly FaultyRow[];
  /** Jobs whose rows are not in Redis any more. */
  readonly missing: readonly string[];
}

/** More than the rows of any job. An origin is encoded as the position of the job in the batch times this, plus the index of the row. */
const ROWS_OF_JOB_MAX = 1_000_000;

/**
 * Joins the rows of a batch's jobs. The result is the same for every attempt, as deduplication by token requires: the order of the
 * jobs, the skipped rows and the reference time for the check of ids all come from the manifest.
 */
export function layOutRows(
  batch: NewInsertBatch,
  texts: readonly (string | null)[],
  faultOf: (row: string) => string | undefined,
): BatchRows {
  const kept: string[] = [];
  const origins: number[] = [];
  const faulty: FaultyRow[] = [];
  const missing: string[] = [];
  batch.jobIds.forEach((jobId, member) => {
    const text = texts[member];
    if (typeof text !== 'string') {
      missing.push(jobId);
      return;
    }
    const skipped = batch.skipped[member];
    const rows = splitRows(text);
    for (let index = 0; index < rows.length; index++) {
      const row = rows[index] ?? '';
      if (skipped?.includes(index)) continue;
      const fault = faultOf(row);
      if (fault !== undefined) {
        faulty.push({ jobId, index, row, fault });
        continue;
      }
      kept.push(row);
      origins.push(member * ROWS_OF_JOB_MAX + index);
    }
  });
  return {
    texts: kept,
    faulty,
    missing,
    originOf(position) {
      const origin = origins[position] ?? 0;
      return {
        jobId: batch.jobIds[Math.floor(origin / ROWS_OF_JOB_MAX)] ?? '',
        index: origin % ROWS_OF_JOB_MAX,
      };
    },
  };
}

/** Returns a function that checks the row of an event, with `at` as the reference time. */
export function eventRowFault(at: number): (row: string) => string | undefined {
  return (row) => rowFault(rowKey(row), at);
}
