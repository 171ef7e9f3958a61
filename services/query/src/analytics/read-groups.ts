import {
  type AnalyticsRow,
  type BoundAnalytics,
  type CountedGroup,
  countedGroups,
  firstNonEmptyRead,
  planAnalytics,
  planAnalyticsCount,
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
  const removed = await reads.removedLinks(bound);
  const events = await reads.sum(planAnalyticsCount(request, removed));
  const links = await reads.allowedLinks(bound);
  const plan = planAnalytics(request, { ...removed, ...links, events, eventsExpire: reads.eventsExpire });
  return plan === undefined ? [] : countedGroups(request, await reads.run<AnalyticsRow>(printAnalytics(plan)));
}
