import { type Catalog, workspaceLimits } from '@waymark/catalog';

/** Whether a workspace has used up its monthly quota of events; if so, its webhooks get no more clicks. */
export async function isOverQuota(
  catalog: Pick<Catalog, 'workspaces' | 'eventUsage'>,
  workspaceId: string,
): Promise<boolean> {
  const workspace = await catalog.workspaces.get(workspaceId);
  if (workspace === undefined) return true;
  const { eventsPerMonth } = workspaceLimits(workspace).quotas;
  return eventsPerMonth !== null && (await catalog.eventUsage.thisMonth(workspaceId, eventsPerMonth)) >= eventsPerMonth;
}
