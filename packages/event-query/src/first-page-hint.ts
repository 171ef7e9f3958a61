import { type BoundRequest, EVENT_MS_MAX } from './bind/bind.js';
import { plan } from './plan/plan.js';
import { printPage } from './print/print.js';

/** The time range that the first page of a list covered, used to narrow the next read of the same list. */
export interface FirstPageHint {
  /** Time of the last event of the page, in epoch milliseconds. */
  readonly lastMs: number;
  /** The bound of the requested range that comes first in the sort order, in epoch milliseconds. */
  readonly beginMs: number;
}

function beginOf({ fromMs = 0, toMs, page }: BoundRequest): number {
  return page.direction === 'ASC' ? fromMs : toMs;
}

/**
 * Cache key of a list: two requests have the same key when they differ only in their time range. Undefined for pages other
 * than the first.
 */
export function listKey(bound: BoundRequest): string | undefined {
  const { offset, after } = bound.page;
  if (bound.isEmpty || offset > 0n || after !== undefined) return undefined;
  const { sql, params } = printPage(plan({ ...bound, fromMs: undefined, toMs: EVENT_MS_MAX }));
  return [sql, ...Object.values(params)].join('\n');
}

/**
 * The hint to cache after a first page that is full.
 *
 * @param lastMs time of the last event of that page
 */
export function hintOf(bound: BoundRequest, lastMs: number): FirstPageHint {
  return { lastMs, beginMs: beginOf(bound) };
}

/**
 * The request with its range narrowed to what the cached first page covered. If the narrowed read returns a full page, that
 * page is also the first page of the whole range, and ClickHouse does not open the parts outside (leads: 12 instead of 17 ms).
 * If it does not, because events were removed meanwhile, the whole range has to be read. Undefined when the hint does not apply.
 */
export function narrowToHint(bound: BoundRequest, edge: FirstPageHint): BoundRequest | undefined {
  const { fromMs = 0, toMs, page } = bound;
  const { lastMs, beginMs } = edge;
  if (page.direction === 'ASC') return fromMs <= beginMs && lastMs < toMs ? { ...bound, toMs: lastMs } : undefined;
  return toMs >= beginMs && lastMs > fromMs ? { ...bound, fromMs: lastMs } : undefined;
}
