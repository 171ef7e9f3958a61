import type { EventsQuery } from '@waymark/contract';
import type { Cursor } from './cursor.js';
import type { Page } from './parsed-request.js';

/** The order in effect. The SDK always sends `order=desc` beside the caller's `sortOrder`. */
export function directionOf(query: Pick<EventsQuery, 'order' | 'sortOrder'>): Page['direction'] {
  const order = query.order === 'asc' ? 'asc' : (query.sortOrder ?? 'desc');
  return order === 'asc' ? 'ASC' : 'DESC';
}

export function parsePage(query: EventsQuery, cursor: Cursor | undefined): Page {
  return {
    direction: directionOf(query),
    limit: query.limit,
    offset: BigInt(query.page - 1) * BigInt(query.limit),
    after: cursor?.after,
  };
}
