import { setTimeout as delay } from 'node:timers/promises';
import { ApiError, type ResourceKind, resourceIdTime } from '@waymark/contract';
import { type ExportSource, slicesOf } from '@waymark/export';

/** Maximum number of rows of a page, which an export reads with one statement. */
const PAGE_ROWS = 1000;
/** Approximate limit on the JSON characters of a page, because its records are all parsed before the read yields to the event loop. */
const PAGE_CHARS = 2_000_000;

/** The part of an export that one run of an export job reads, without limits for a direct export, and how long it waits for pages. */
export interface ExportPart {
  /** Id of the last row that earlier runs have exported; the part begins after it. */
  readonly after?: string | undefined;
  /** Epoch milliseconds; rows that were created later are left out. */
  readonly createdUntilMs?: number | undefined;
  /** Only of a direct export: aborts when its client has left. Until then, refused pages are retried; a job gives up at the tenth refusal. */
  readonly clientLeft?: AbortSignal | undefined;
}

/** Whether the time in a row's id is at or before {@link ExportPart.createdUntilMs}. */
function isInPart(kind: ResourceKind, id: string, { createdUntilMs = Number.POSITIVE_INFINITY }: ExportPart) {
  return (resourceIdTime(kind, id) ?? 0) <= createdUntilMs;
}

/** Refusals of a page in a row after which an attempt of a job ends. */
const REFUSALS_MAX = 10;

/**
 * Reads a page of a file whose beginning has been sent. While too many reads of its workspace are under way, reads are refused (429); the
 * file would be cut off, so the page is tried again.
 *
 * @throws the error of `readPage`, of a job also a refusal if it is the tenth in a row; AbortError when the client has left
 */
async function readFurtherPage<T>(readPage: () => Promise<T>, { clientLeft }: ExportPart): Promise<T> {
  for (let refusals = 1; ; refusals++) {
    try {
      return await readPage();
    } catch (err) {
      const isRefusal = err instanceof ApiError && err.code === 'rate_limit_exceeded';
      if (!isRefusal || (clientLeft === undefined && refusals === REFUSALS_MAX)) throw err;
      await delay((err.retryAfterSeconds ?? 1) * 1000, undefined, { signal: clientLeft });
    }
  }
}

/** How the records of one kind are read, in the order of the export, and made into objects. */
export interface ExportedRecords<R extends { readonly id: string }> {
  readonly kind: ResourceKind;
  /** Id after which the export begins, unless its part begins later. */
  readonly startId: string | undefined;
  readonly readFirst: (limit: number) => Promise<readonly R[]>;
  readonly readAfter: (id: string, limit: number) => Promise<readonly R[]>;
  readonly objectsOf: (records: readonly R[]) => Promise<readonly object[]>;
}

/** Reads a part of an export of records. */
export function slicesOfRecords<R extends { readonly id: string }>(
  { kind, startId, readFirst, readAfter, objectsOf }: ExportedRecords<R>,
  part: ExportPart,
): ExportSource {
  const start = part.after ?? startId;
  return slicesOf<R>({
    pageChars: PAGE_CHARS,
    async readPage(last, rowsMax) {
      const id = last?.id ?? start;
      const limit = Math.min(PAGE_ROWS, rowsMax);
      const readPage = () => (id === undefined ? readFirst(limit) : readAfter(id, limit));
      const rows = await (last === undefined ? readPage() : readFurtherPage(readPage, part));
      return { rows, limit };
    },
    async itemsOf(records) {
      const objects = await objectsOf(records.filter(({ id }) => isInPart(kind, id, part)));
      return objects.map((object) => JSON.stringify(object));
    },
    idOf: ({ id }) => id,
  });
}
