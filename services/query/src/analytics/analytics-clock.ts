import type { Catalog, WorkspaceRecord } from '@waymark/catalog';
import type { AnalyticsQuery } from '@waymark/contract';
import type { AnalyticsClock } from '@waymark/event-query';

/**
 * The times that the range of an analytics request is relative to: now, and when the events of the workspace begin. They begin when it was
 * created, or in the month of its first imported event if that was earlier.
 */
export async function analyticsClock(
  { eventUsage }: Pick<Catalog, 'eventUsage'>,
  workspace: Pick<WorkspaceRecord, 'id' | 'createdAt'>,
  { groupBy, interval }: Pick<AnalyticsQuery, 'groupBy' | 'interval'>,
  nowMs: number,
): Promise<AnalyticsClock> {
  const createdAtMs = Date.parse(workspace.createdAt);
  // The first imported event is only looked up for the one request that needs it.
  if (groupBy !== 'timeseries' || interval !== 'all') return { nowMs, sinceMs: createdAtMs };
  const importedSinceMs = await eventUsage.importedSinceMs(workspace.id);
  return { nowMs, sinceMs: Math.min(createdAtMs, importedSinceMs ?? createdAtMs) };
}
