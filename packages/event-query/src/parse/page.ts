import type { EventsQuery } from '@waymark/contract';

/** An event's place in the order of time, which the id makes total. */
export interface Position {
  /** Epoch milliseconds. */
  readonly timeMs: number;
  readonly id: string;
}

/** The part of the list that is answered. */
export interface Page {
  readonly direction: 'ASC' | 'DESC';
  readonly limit: number;
  /** Up to 2^53 pages of 1000: no number holds it. */
  readonly offset: bigint;
  /** The event before the page, when the page begins at a cursor. */
  readonly after: Position | undefined;
}

/** The order in effect. The SDK always sends `order=desc` beside the caller's `sortOrder`. */
export function directionOf(query: Pick<EventsQuery, 'order' | 'sortOrder'>): Page['direction'] {
  const order = query.order === 'asc' ? 'asc' : (query.sortOrder ?? 'desc');
  return order === 'asc' ? 'ASC' : 'DESC';
}

/** @param after the event before the page, from the request's cursor */
export function parsePage(query: EventsQuery, after: Position | undefined): Page {
  return {
    direction: directionOf(query),
    limit: query.limit,
    offset: BigInt(query.page - 1) * BigInt(query.limit),
    after,
  };
}
