import type { EventsQuery } from '@waymark/contract';
import type { Position } from '@waymark/event-query';
import type { EventPageRow } from './event-text.js';

/**
 * Longest value of the `Link` header. Proxies buffer response headers in 4 kB, Node clients in 16 kB, but `query` and lists of ids
 * may be much longer.
 */
const CHARS_MAX = 3000;

function linkTo(parameters: readonly [string, string][]): string {
  return `<?${new URLSearchParams(parameters)}>; rel="next"`;
}

/**
 * The `Link` header of a full page: the same request with a cursor instead of a page number. The URL is relative, because the address
 * that a client uses is unknown behind a proxy. If the link would be too long for a header, it contains only the cursor, and the client
 * repeats the other parameters.
 */
export function nextLink(query: EventsQuery, cursor: string): string {
  const { page: _page, cursor: _cursor, ...others } = query;
  const parameters = Object.entries(others).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  );
  const link = linkTo([...parameters, ['cursor', cursor]]);
  return link.length <= CHARS_MAX ? link : linkTo([['cursor', cursor]]);
}

/** The sort key of an event. */
export function positionOf([id, timestamp]: EventPageRow): Position {
  return { timeMs: Date.parse(timestamp), id };
}
