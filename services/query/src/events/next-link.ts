import type { EventsQuery } from '@waymark/contract';
import type { Position } from '@waymark/event-query';
import type { EventPageRow } from './event-text.js';

/**
 * Longest value of the header. Proxies keep the head of an answer in 4 kB, Node's own clients in 16; a caller's `query` and
 * lists of ids may be much longer.
 */
const CHARS_MAX = 3000;

function linkTo(parameters: readonly [string, string][]): string {
  return `<?${new URLSearchParams(parameters)}>; rel="next"`;
}

/**
 * The `Link` header of a page that a next one may follow: the same request with the cursor in the place of the page number.
 * Relative to the address the caller used, because only the caller knows it behind a proxy. When the request is too long
 * for a header, the cursor stands alone, to be added to the same parameters.
 */
export function nextLink(query: EventsQuery, cursor: string): string {
  const { page: _page, cursor: _cursor, ...others } = query;
  const parameters = Object.entries(others).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  );
  const link = linkTo([...parameters, ['cursor', cursor]]);
  return link.length <= CHARS_MAX ? link : linkTo([['cursor', cursor]]);
}

/** Where an event stands in its list. */
export function positionOf([id, timestamp]: EventPageRow): Position {
  return { timeMs: Date.parse(timestamp), id };
}
