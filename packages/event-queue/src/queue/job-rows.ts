import { z } from 'zod';

/**
 * A job's rows are kept beside it, in a key of their own, as lines of JSON arrays: exactly the body of an insert. BullMQ's
 * scripts hand the whole job through Lua, which hashes every byte of it: at 500 rows that was half of what a job cost Redis.
 * JSON text has no raw line break, so lines can be told apart, and joined, without parsing a value.
 */

/** Joins rows that are JSON arrays already. */
export function joinRows(rows: readonly string[]): string {
  return rows.join('\n');
}

/** Cuts the text of a job, or of several, into rows. */
export function splitRows(text: string): string[] {
  return text === '' ? [] : text.split('\n');
}

const ROW_END = ']';
/** A blank that no writer of JSON puts there, and every reader of it passes over. */
const UNTOLD_ROW_END = ' ]';

/**
 * Marks a row that is stored and counted like any other, but of which no webhook is told. The mark is part of the row's text, so
 * it stays with the row wherever that goes: into the repeat of its group, a half of it, a dead letter and its replay. ClickHouse,
 * and writers that do not know it, read the same row with it and without.
 */
export function untoldRow(row: string): string {
  return row.slice(0, -ROW_END.length) + UNTOLD_ROW_END;
}

/** Whether webhooks are told of a row. */
export function isToldRow(row: string): boolean {
  return !row.endsWith(UNTOLD_ROW_END);
}

/** The data of the BullMQ job itself. */
export const jobDataSchema = z.object({
  /** Version of the column list the rows follow. */
  v: z.int().min(1),
  /** How many rows there are, and how many characters of text. */
  rows: z.int().min(0),
  size: z.int().min(0),
});
export type JobData = z.infer<typeof jobDataSchema>;

/** What the transaction that added the job says about it: rows that came too late to be recorded. */
export const jobProgressSchema = z.object({ struck: z.array(z.int().min(0)) });
