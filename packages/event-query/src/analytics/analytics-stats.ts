import type { BoundFilters } from '../bind/bind.js';
import type { PlannerStats } from '../plan/planner-stats.js';
import type { BoundAnalytics } from './bind-analytics.js';

/** Statistics for the planner of analytics. All are optional: without them the result is the same, only slower. */
export interface AnalyticsStats extends PlannerStats {
  /** Upper bound of the events in the range; undefined = not read. */
  readonly events?: number | undefined;
  /**
   * Whether events expire (retention). The totals of links do not expire with them, so they cannot stand in for a count of events.
   * Defaults to false.
   */
  readonly eventsExpire?: boolean | undefined;
}

/**
 * The first event kind of the request that can match anything: planner statistics are read for that kind and used for all.
 * Undefined when no kind can match.
 */
export function firstNonEmptyRead({ reads }: BoundAnalytics): BoundFilters | undefined {
  return reads.find(({ isEmpty }) => !isEmpty);
}
