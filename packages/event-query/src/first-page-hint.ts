import { type BoundRequest, EVENT_MS_MAX } from './bind/bind.js';
import { plan } from './plan/plan.js';
import { print } from './print/print.js';

/** How far the first page of a list reached. */
export interface PageEdge {
  /** Time of its last event, epoch milliseconds. */
  readonly lastMs: number;
  /** Where the range began, in the order of the list. */
  readonly beginMs: number;
}

function beginOf({ fromMs = 0, toMs, page }: BoundRequest): number {
  return page.direction === 'ASC' ? fromMs : toMs;
}

/**
 * What tells a list from others, whatever its range: the lists of one text differ only in where they begin and end. Undefined
 * for pages other than the first.
 */
export function listText(bound: BoundRequest): string | undefined {
  const { offset, after } = bound.page;
  if (bound.isEmpty || offset > 0n || after !== undefined) return undefined;
  const { sql, params } = print(plan({ ...bound, fromMs: undefined, toMs: EVENT_MS_MAX }));
  return [sql, ...Object.values(params)].join('\n');
}

/** @param lastMs time of the last event of the list's first page, which is full */
export function edgeOf(bound: BoundRequest, lastMs: number): PageEdge {
  return { lastMs, beginMs: beginOf(bound) };
}

/**
 * The same request as far as the first page reached before: a list that begins no later has its first page there, unless events
 * of it were taken away. When that page is full it is the page of the whole range, too; parts of the table that lie outside
 * are not opened for it (leads: 12 against 17 ms). Undefined when it is not worth looking there.
 */
export function untilEdge(bound: BoundRequest, edge: PageEdge): BoundRequest | undefined {
  const { fromMs = 0, toMs, page } = bound;
  const { lastMs, beginMs } = edge;
  if (page.direction === 'ASC') return fromMs <= beginMs && lastMs < toMs ? { ...bound, toMs: lastMs } : undefined;
  return toMs >= beginMs && lastMs > fromMs ? { ...bound, fromMs: lastMs } : undefined;
}
