import {
  type AnalyticsRow,
  type BoundAnalytics,
  type CountedGroup,
  countedGroups,
  firstNonEmptyRead,
  planAnalytics,
  planAnalyticsRangeCount,
  planKindCount,
  printAnalytics,
} from '@waymark/event-query';
import type { Reads } from '../reads.js';

/**
 * Reads the groups of an analytics request: first the planner statistics, then the groups.
 *
 * @throws ApiError when ClickHouse exceeds a limit or is unavailable
 */
export async function readGroups(reads: Reads, request: BoundAnalytics): Promise<readonly CountedGroup[]> {
  const bound = firstNonEmptyRead(request);
  if (bound === undefined) return [];
  const [removed, links, kindEvents, eventsExpire] = await Promise.all([
    reads.removedLinks(bound),
    reads.allowedLinks(bound),
    reads.kindEvents(bound.kind, planKindCount(request)),
    reads.eventsExpire(),
  ]);
  const rangeEventsMax = await reads.sum(planAnalyticsRangeCount(request, removed));
  const plan = planAnalytics(request, { ...removed, ...links, kindEvents, rangeEventsMax, eventsExpire });
  return plan === undefined ? [] : countedGroups(request, await reads.run<AnalyticsRow>(printAnalytics(plan)));
}
