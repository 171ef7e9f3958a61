import type { Catalog, WorkspaceRecord } from '@waymark/catalog';
import type { AnalyticsQuery } from '@waymark/contract';
import type { AnalyticsClock } from '@waymark/event-query';

/** The times that a request for analytics is relative to. Events begin when the workspace was made, or in the first month of imported ones. */
export async function analyticsClock(
  { eventUsage }: Pick<Catalog, 'eventUsage'>,
  workspace: Pick<WorkspaceRecord, 'id' | 'createdAt'>,
  { groupBy, interval }: Pick<AnalyticsQuery, 'groupBy' | 'interval'>,
  nowMs: number,
): Promise<AnalyticsClock> {
  const createdAtMs = Date.parse(workspace.createdAt);
  // Other requests do not depend on it.
  if (groupBy !== 'timeseries' || interval !== 'all') return { nowMs, sinceMs: createdAtMs };
  const importedSinceMs = await eventUsage.importedSinceMs(workspace.id);
  return { nowMs, sinceMs: Math.min(createdAtMs, importedSinceMs ?? createdAtMs) };
}
