import { isResultTooLarge } from '@waymark/clickhouse';
import {
  type AnalyticsPlan,
  type AnalyticsRow,
  type BoundAnalytics,
  type CountedGroup,
  countedGroups,
  firstNonEmptyRead,
  planAnalytics,
  planAnalyticsRangeCount,
  planKindCount,
  printAnalytics,
  withFewerGroups,
} from '@waymark/event-query';
import type { Reads } from '../reads.js';

/** Limit on the groups of an answer, which are in memory until it is sent: a thousand of the longest URLs, those of imported clicks, have 32 MB. */
const RESULT_BYTES_MAX = 40_000_000;

/**
 * Reads the groups of an analytics request: first the planner statistics, then the groups. They are fewer if their
 * texts would be too long together.
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
  if (plan === undefined) return [];
  const read = async (limited: AnalyticsPlan) => {
    const { settings, ...query } = printAnalytics(limited);
    const bounded = { ...query, settings: { ...settings, max_result_bytes: RESULT_BYTES_MAX } };
    return countedGroups(request, await reads.run<AnalyticsRow>(bounded));
  };
  return read(plan).catch((err: unknown) => {
    const fewer = isResultTooLarge(err) ? withFewerGroups(plan) : undefined;
    if (fewer === undefined) throw err;
    return read(fewer);
  });
}
