import { type Catalog, workspaceLimits } from '@waymark/catalog';

/** Whether the webhooks of a workspace get no more clicks: its monthly quota of events is used up, or the workspace does not exist. */
export async function isOverQuota(
  catalog: Pick<Catalog, 'workspaces' | 'eventUsage'>,
  workspaceId: string,
): Promise<boolean> {
  const workspace = await catalog.workspaces.get(workspaceId);
  if (workspace === undefined) return true;
  const { eventsPerMonth } = workspaceLimits(workspace).quotas;
  return eventsPerMonth !== null && (await catalog.eventUsage.thisMonth(workspaceId, eventsPerMonth)) >= eventsPerMonth;
}
