import type { BoundFilters } from '../bind/bind.js';
import type { PlannerStats } from '../plan/planner-stats.js';
import type { BoundAnalytics } from './bind-analytics.js';

/** Statistics for the planner of analytics. All are optional: without them the result is the same, only slower. */
export interface AnalyticsStats extends PlannerStats {
  /** Upper bound of the events in the range; undefined = not read. */
  readonly rangeEventsMax?: number | undefined;
  /**
   * Whether events expire (retention). The totals of links do not expire with them, so they cannot stand in for a count of events.
   * Defaults to false.
   */
  readonly eventsExpire?: boolean | undefined;
}

/**
 * The filters of the first event kind that can match any event; undefined when none can. Planner statistics are read for this kind, and
 * used for all kinds of the request.
 */
export function firstNonEmptyRead({ reads }: BoundAnalytics): BoundFilters | undefined {
  return reads.find(({ isEmpty }) => !isEmpty);
}
