import { ImportError } from '../model/import-error.js';
import { textIn } from './pages.js';

/**
 * Where a list of dub continues. Its first page, without a cursor, is in the order of creation, and a page by cursor in the order of ids,
 * which differs for what dub itself has imported. So the list is read from the last record of the first page in both directions.
 */
export interface Cursor {
  readonly parameter: 'startingAfter' | 'endingBefore';
  readonly id: string;
  /** Id of the last record of the first page. */
  readonly pivot: string;
  /** Ids of the records that follow the pivot, at most a page. Whichever of them still exists, all records before the pivot are before it. */
  readonly following?: readonly string[];
}

const idsOf = (records: readonly unknown[]) => records.flatMap((record) => textIn(record, 'id') ?? []);

/** Whether the source refuses the cursor, as dub does when its record was deleted. */
export function isRefusedCursor(cursor: Cursor | undefined, err: unknown): boolean {
  return cursor !== undefined && err instanceof ImportError && err.status === 422;
}

/**
 * Reads the page at the cursor. If the record of the cursor was deleted after all records behind the pivot were read, those before it are
 * read from the next record that follows the pivot: then some records come again.
 *
 * @returns the records, and the cursor at which they are
 */
export async function readAtCursor(
  cursor: Cursor | undefined,
  read: (query: string) => Promise<readonly unknown[]>,
): Promise<{ readonly records: readonly unknown[]; readonly cursor: Cursor | undefined }> {
  try {
    return { records: await read(cursorQuery(cursor)), cursor };
  } catch (err) {
    const [id, ...following] = cursor?.following ?? [];
    if (!isRefusedCursor(cursor, err) || cursor?.parameter !== 'endingBefore' || id === undefined) throw err;
    return readAtCursor({ ...cursor, id, following }, read);
  }
}

/** Parameters of a query for the page at the cursor; undefined = the first page. */
function cursorQuery(cursor: Cursor | undefined): string {
  return cursor === undefined ? '' : `&${cursor.parameter}=${encodeURIComponent(cursor.id)}`;
}

/** The cursor of the next page; undefined after the last one. @throws ImportError when the records do not lead to another page */
export function nextCursor(cursor: Cursor | undefined, records: readonly unknown[]): Cursor | undefined {
  const { parameter = 'startingAfter' } = cursor ?? {};
  const isAtPivot = cursor?.parameter === 'startingAfter' && cursor.id === cursor.pivot;
  const following = isAtPivot ? idsOf(records) : cursor?.following;
  if (records.length === 0) {
    return cursor?.parameter === 'startingAfter'
      ? { ...cursor, parameter: 'endingBefore', id: cursor.pivot }
      : undefined;
  }
  const id = textIn(parameter === 'startingAfter' ? records.at(-1) : records[0], 'id');
  if (id === undefined || id === cursor?.id) throw new ImportError('the records of a page have no ids of their own');
  return { parameter, id, pivot: cursor?.pivot ?? id, ...(following && { following }) };
}
