import { z } from 'zod';

/**
 * A job's rows are stored in a Redis key of their own, as lines of JSON arrays: exactly the body of an insert. They are not in the job
 * itself, because BullMQ's scripts pass the job through Lua, which hashes every byte: with 500 rows, that was half of the time that Redis
 * spent on a job.
 * JSON text contains no raw line break, so rows can be split and joined without parsing them.
 */

/** Joins rows that are JSON arrays. */
export function joinRows(rows: readonly string[]): string {
  return rows.join('\n');
}

/** Splits the rows of a job, or of several joined ones. */
export function splitRows(text: string): string[] {
  return text === '' ? [] : text.split('\n');
}

const ROW_END = ']';
/** With a space, which no JSON serializer writes before the bracket, and every parser ignores. */
const SILENT_ROW_END = ' ]';

/**
 * Marks a row as silent: it is stored and counted like any other, but no webhook is sent for it. The mark is part of the row's
 * text, so it survives retries, the splitting of a batch, the dead-letter queue and replays. ClickHouse, and writers of older
 * versions, read the row as if the mark were not there.
 */
export function silentRow(row: string): string {
  return row.slice(0, -ROW_END.length) + SILENT_ROW_END;
}

/** Whether a row is marked by {@link silentRow}. */
export function isSilentRow(row: string): boolean {
  return row.endsWith(SILENT_ROW_END);
}

/** The data of the BullMQ job. */
export const jobDataSchema = z.object({
  /** Version of the rows' column list. */
  v: z.int().min(1),
  /** Number of rows. */
  rows: z.int().min(0),
  /** Length of the joined rows, in characters. */
  size: z.int().min(0),
});
export type JobData = z.infer<typeof jobDataSchema>;

/** A job's `progress`, set by the transaction that added the job: the indexes of its discarded rows (see claim-scripts.ts). */
export const jobProgressSchema = z.object({ struck: z.array(z.int().min(0)) });
