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
}

/** Parameters of a query for the page at the cursor; undefined = the first page. */
export function cursorQuery(cursor: Cursor | undefined): string {
  return cursor === undefined ? '' : `&${cursor.parameter}=${encodeURIComponent(cursor.id)}`;
}

/** The cursor of the next page; undefined after the last one. @throws ImportError when the records do not lead to another page */
export function nextCursor(cursor: Cursor | undefined, records: readonly unknown[]): Cursor | undefined {
  const { parameter = 'startingAfter' } = cursor ?? {};
  if (records.length === 0) {
    return cursor?.parameter === 'startingAfter'
      ? { parameter: 'endingBefore', id: cursor.pivot, pivot: cursor.pivot }
      : undefined;
  }
  const id = textIn(parameter === 'startingAfter' ? records.at(-1) : records[0], 'id');
  if (id === undefined || id === cursor?.id) throw new ImportError('the records of a page have no ids of their own');
  return { parameter, id, pivot: cursor?.pivot ?? id };
}
