import type { BoundFilters } from '../bind/bind.js';
import type { PlanFacts } from '../plan/planner-stats.js';
import type { BoundAnalytics } from './bind-analytics.js';

/** What was found out before the answer is planned. Each fact may be left out: the answer is the same, only slower. */
export interface AnalyticsFacts extends PlanFacts {
  /** How many events the range has at most; undefined = not asked. */
  readonly events?: number | undefined;
  /** Events expire here while the counters of links stay: these do not say what events there are. False unless said otherwise. */
  readonly eventsExpire?: boolean | undefined;
}

/** The kind of event that facts are asked of; undefined when nothing can be counted. What they say holds for all kinds. */
export function countedKind({ reads }: BoundAnalytics): BoundFilters | undefined {
  return reads.find(({ isEmpty }) => !isEmpty);
}
