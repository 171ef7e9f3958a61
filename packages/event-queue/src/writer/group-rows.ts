import { rowKey } from '@waymark/event-format';
import { splitRows } from '../queue/job-rows.js';
import type { NewGroup } from './manifest.js';
import { rowFault } from './row-check.js';

/** A row that is not inserted but parked, and where it came from. */
export interface FaultyRow {
  readonly jobId: string;
  readonly index: number;
  readonly row: string;
  readonly fault: string;
}

/** The rows of one group in the order of its insert. */
export interface GroupRows {
  readonly texts: readonly string[];
  /** Where the row at that position of `texts` came from. */
  originOf(position: number): { readonly jobId: string; readonly index: number };
  readonly faulty: readonly FaultyRow[];
  /** Jobs whose rows are gone. */
  readonly missing: readonly string[];
}

const ROWS_OF_JOB_MAX = 1_000_000;

/**
 * Lays out a group's rows. The same group gives the same rows every time, which is what makes its token good for a repeat:
 * the members' order, what is left out, and the moment by which ids are judged all come from the manifest.
 */
export function layOutRows(
  group: NewGroup,
  texts: readonly (string | null)[],
  faultOf: (row: string) => string | undefined,
): GroupRows {
  const kept: string[] = [];
  const origins: number[] = [];
  const faulty: FaultyRow[] = [];
  const missing: string[] = [];
  group.jobIds.forEach((jobId, member) => {
    const text = texts[member];
    if (typeof text !== 'string') {
      missing.push(jobId);
      return;
    }
    const skipped = group.skipped[member];
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
        jobId: group.jobIds[Math.floor(origin / ROWS_OF_JOB_MAX)] ?? '',
        index: origin % ROWS_OF_JOB_MAX,
      };
    },
  };
}

/** The fault of an event's row as of `at`. */
export function eventRowFault(at: number): (row: string) => string | undefined {
  return (row) => rowFault(rowKey(row), at);
}
