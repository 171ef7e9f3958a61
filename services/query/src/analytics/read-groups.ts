import {
  type AnalyticsRow,
  type BoundAnalytics,
  type CountedGroup,
  countedGroups,
  planAnalytics,
  planLinksCount,
  printAnalytics,
} from '@waymark/event-query';
import type { Reads } from '../reads.js';

/**
 * The groups of an answer: first the facts that its plan depends on, then the groups.
 *
 * @throws ApiError when ClickHouse gave up or is away
 */
export async function readGroups(reads: Reads, request: BoundAnalytics): Promise<readonly CountedGroup[]> {
  const bound = request.reads.find(({ isEmpty }) => !isEmpty);
  if (bound === undefined) return [];
  const [removed, events] = await Promise.all([reads.hasRemovedLinks(bound), reads.sum(planLinksCount(bound))]);
  const links = await reads.allowedLinks(bound, events);
  const plan = planAnalytics(request, { ...removed, ...links });
  return plan === undefined ? [] : countedGroups(request, await reads.run<AnalyticsRow>(printAnalytics(plan)));
}
