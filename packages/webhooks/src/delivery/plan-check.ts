import { type Catalog, isUnreadable, workspaceLimits } from '@waymark/catalog';
import { planAtLeast } from '@waymark/contract';

/**
 * Whether the plan of a workspace includes webhooks. Those of a workspace whose plan was lowered are paused: nothing is queued for them, and
 * what waits is given up. If this release cannot read the workspace, the answer is true: an error would stop the inserts of all workspaces.
 */
export async function includesWebhooks(
  { workspaces }: Pick<Catalog, 'workspaces'>,
  workspaceId: string,
): Promise<boolean> {
  try {
    const workspace = await workspaces.get(workspaceId);
    return workspace !== undefined && planAtLeast(workspace.plan, 'business');
  } catch (err) {
    if (isUnreadable(err)) return true;
    throw err;
  }
}

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
