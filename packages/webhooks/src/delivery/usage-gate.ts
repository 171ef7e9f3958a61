import { type Catalog, workspaceLimits } from '@waymark/catalog';

/** Whether a workspace has used up its events of this month: then its webhooks are sent no more clicks. */
export async function isUsedUp(
  catalog: Pick<Catalog, 'workspaces' | 'eventUsage'>,
  workspaceId: string,
): Promise<boolean> {
  const workspace = await catalog.workspaces.get(workspaceId);
  if (workspace === undefined) return true;
  const { eventsPerMonth } = workspaceLimits(workspace).quotas;
  return eventsPerMonth !== null && (await catalog.eventUsage.thisMonth(workspaceId, eventsPerMonth)) >= eventsPerMonth;
}
