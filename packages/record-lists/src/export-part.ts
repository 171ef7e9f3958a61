import { setTimeout as delay } from 'node:timers/promises';
import { ApiError, type ResourceKind, resourceIdTime } from '@waymark/contract';

/** Rows of a page that an export reads with one statement. */
export const PAGE_ROWS = 1000;
/** Limit on the characters of such a page, because its records are parsed at once. */
export const PAGE_CHARS = 2_000_000;

/** A part of an export: a job that was interrupted continues with the rows after those that its file has. */
export interface ExportPart {
  /** Id of the last row of the parts before. */
  readonly after?: string | undefined;
  /** Rows that were created later are left out, in epoch milliseconds. */
  readonly createdUntilMs?: number | undefined;
}

/** Whether a row belongs to the part, by the time in its id. */
export function isInPart(kind: ResourceKind, id: string, { createdUntilMs = Number.POSITIVE_INFINITY }: ExportPart) {
  return (resourceIdTime(kind, id) ?? 0) <= createdUntilMs;
}

const REFUSALS_MAX = 10;

/**
 * Reads a page of a file whose beginning has been sent. While its workspace lists much, lists are refused (429); the file would be cut off,
 * so the page is tried again.
 *
 * @throws the error of `readPage`, a refusal only when it is the tenth
 */
export async function readFurtherPage<T>(readPage: () => Promise<T>): Promise<T> {
  for (let refusals = 1; ; refusals++) {
    try {
      return await readPage();
    } catch (err) {
      const isRefusal = err instanceof ApiError && err.code === 'rate_limit_exceeded';
      if (!isRefusal || refusals === REFUSALS_MAX) throw err;
      await delay((err.retryAfterSeconds ?? 1) * 1000);
    }
  }
}
