export type { AnalyticsPlan } from './analytics-plan.js';
export { type AnalyticsStats, firstNonEmptyRead } from './analytics-stats.js';
export {
  type AnalyticsRow,
  type CountedGroup,
  countedGroups,
  countOf,
  type EventGrouping,
  GROUP_FIELDS,
  timeseriesOf,
} from './answer.js';
export { type BoundAnalytics, bindAnalytics } from './bind-analytics.js';
export { planAnalyticsRangeCount, planKindCount } from './coverage.js';
export { type AnalyticsClock, type ParsedAnalytics, parseAnalytics } from './parse-analytics.js';
export { planAnalytics, withFewerGroups } from './plan-analytics.js';
export { printAnalytics } from './print-analytics.js';
