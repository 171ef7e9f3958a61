import type { AnalyticsEvent, Grouping } from '@waymark/contract';
import { type BindScope, type BoundFilters, bindFilters } from '../bind/bind.js';
import { kindsOf, type ParsedAnalytics } from './parse-analytics.js';
import type { Timeline } from './timeline.js';

/** An analytics request with its filters as conditions on tables. */
export interface BoundAnalytics {
  readonly event: AnalyticsEvent;
  readonly grouping: Grouping;
  readonly timeline: Timeline | undefined;
  /** One for each event kind to count, because each kind has its own columns. The filters on links are the same for all. */
  readonly reads: readonly [BoundFilters, ...BoundFilters[]];
}

/** Binds the filters of an analytics request for each event kind; see `bindFilters`. */
export function bindAnalytics(parsed: ParsedAnalytics, scope: BindScope): BoundAnalytics {
  const { event, grouping, timeline } = parsed;
  const range = timeline === undefined ? parsed.filters.range : { ...parsed.filters.range, fromMs: timeline.fromMs };
  const [first, ...others] = kindsOf(event);
  const read = (kind: typeof first) => bindFilters({ ...parsed.filters, kind, range }, scope);
  return { event, grouping, timeline, reads: [read(first), ...others.map(read)] };
}
