import type { AnalyticsEvent, Grouping } from '@waymark/contract';
import { type BindScope, type BoundFilters, bindFilters } from '../bind/bind.js';
import { kindsOf, type ParsedAnalytics } from './parse-analytics.js';
import type { Timeline } from './timeline.js';

/** A request in terms of tables. */
export interface BoundAnalytics {
  readonly event: AnalyticsEvent;
  readonly grouping: Grouping;
  readonly timeline: Timeline | undefined;
  /** One for each kind of event that is counted: each kind has filters of its own. What the link must be is common to all. */
  readonly reads: readonly [BoundFilters, ...BoundFilters[]];
}

export function bindAnalytics(parsed: ParsedAnalytics, scope: BindScope): BoundAnalytics {
  const { event, grouping, timeline } = parsed;
  const range = timeline === undefined ? parsed.filters.range : { ...parsed.filters.range, fromMs: timeline.fromMs };
  const [first, ...others] = kindsOf(event);
  const read = (kind: typeof first) => bindFilters({ ...parsed.filters, kind, range }, scope);
  return { event, grouping, timeline, reads: [read(first), ...others.map(read)] };
}
