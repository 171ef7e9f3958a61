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
  /** Ids of some of the records that follow the pivot, the next ones first. Whichever of them still exists, all records before the pivot are before it. */
  readonly following?: readonly string[];
  /** Ids of some other records of the page before, those next to the cursor first. */
  readonly nearby?: readonly string[];
}

/**
 * The first four of some ids, the 8th, 16th and so on, and the last: few requests show that a source refuses every cursor, and records
 * that were deleted one after the other are soon passed over.
 */
const samples = (ids: readonly string[]) =>
  ids.filter((_id, index) => index < 4 || (index & (index + 1)) === 0 || index === ids.length - 1);

/** Longer than any id of dub. A cursor has several ids, and is part of an address. */
const ID_CHARS_MAX = 200;

const idsOf = (records: readonly unknown[]) =>
  records.flatMap((record) => textIn(record, 'id') ?? []).filter(({ length }) => length <= ID_CHARS_MAX);

/** Whether the source refuses the cursor, as dub does when its record was deleted. */
export function isRefusedCursor(cursor: Cursor | undefined, err: unknown): boolean {
  return cursor !== undefined && err instanceof ImportError && err.status === 422;
}

/**
 * Reads the page at the cursor. If the record of the cursor was deleted meanwhile, the list is read from a near record of the page before
 * that exists or, if none does and all records behind the pivot were read, from the next one that follows the pivot: then some come again.
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
    const next = cursor && nextBest(cursor);
    if (!isRefusedCursor(cursor, err) || next === undefined) throw err;
    return readAtCursor(next, read);
  }
}

/** The cursor to continue at if the record of the cursor was deleted; undefined if no record is known at which the list continues. */
function nextBest(cursor: Cursor): Cursor | undefined {
  const [near, ...nearby] = cursor.nearby ?? [];
  // The list turns at the pivot, so it must be a record that the source has.
  if (near !== undefined)
    return { ...cursor, id: near, nearby, pivot: cursor.id === cursor.pivot ? near : cursor.pivot };
  const [id, ...following] = cursor.following ?? [];
  return cursor.parameter === 'startingAfter' || id === undefined ? undefined : { ...cursor, id, following };
}

/** Parameters of a query for the page at the cursor; undefined = the first page. */
function cursorQuery(cursor: Cursor | undefined): string {
  return cursor === undefined ? '' : `&${cursor.parameter}=${encodeURIComponent(cursor.id)}`;
}

/** The cursor of the next page; undefined after the last one. @throws ImportError when the records do not lead to another page */
export function nextCursor(cursor: Cursor | undefined, records: readonly unknown[]): Cursor | undefined {
  const { parameter = 'startingAfter' } = cursor ?? {};
  const isAtPivot = cursor?.parameter === 'startingAfter' && cursor.id === cursor.pivot;
  const following = isAtPivot ? samples(idsOf(records)) : cursor?.following;
  if (records.length === 0) {
    return cursor?.parameter === 'startingAfter'
      ? { ...cursor, parameter: 'endingBefore', id: cursor.pivot, nearby: [] }
      : undefined;
  }
  const id = textIn(parameter === 'startingAfter' ? records.at(-1) : records[0], 'id');
  if (id === undefined || id === cursor?.id || id.length > ID_CHARS_MAX)
    throw new ImportError('the records of a page have no ids of their own');
  const others = idsOf(parameter === 'startingAfter' ? records.toReversed() : records).slice(1);
  return { parameter, id, pivot: cursor?.pivot ?? id, nearby: samples(others), ...(following && { following }) };
}
