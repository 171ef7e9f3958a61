import type { EventsQuery } from '@waymark/contract';

/** The sort key of an event: its time, then its id as the tie-break. */
export interface Position {
  /** Epoch milliseconds. */
  readonly timeMs: number;
  readonly id: string;
}

/** Which part of the list to return, in which order. */
export interface Page {
  readonly direction: 'ASC' | 'DESC';
  readonly limit: number;
  /** Rows to skip. A bigint, because up to 2^53 pages of 1000 rows exceed a safe integer. */
  readonly offset: bigint;
  /** The last event of the previous page, for a request with a cursor. */
  readonly after: Position | undefined;
}

/** The sort order. The SDK always sends `order=desc` together with the caller's `sortOrder`, so only `order=asc` takes precedence. */
export function directionOf(query: Pick<EventsQuery, 'order' | 'sortOrder'>): Page['direction'] {
  const order = query.order === 'asc' ? 'asc' : (query.sortOrder ?? 'desc');
  return order === 'asc' ? 'ASC' : 'DESC';
}

/** The page of a request. @param after the last event of the previous page, from the request's cursor */
export function parsePage(query: EventsQuery, after: Position | undefined): Page {
  return {
    direction: directionOf(query),
    limit: query.limit,
    offset: BigInt(query.page - 1) * BigInt(query.limit),
    after,
  };
}
