import { type WorkspaceRecord, workspaceLimits } from '@waymark/catalog';
import { ApiError } from '@waymark/contract';
import type { LinkParts } from '../link-parts.js';

function monthStart(nowMs: number): number {
  const today = new Date(nowMs);
  return Date.UTC(today.getUTCFullYear(), today.getUTCMonth());
}

/** Links that the workspace made in this month, removed ones included. */
export function linksThisMonth({ catalog, now }: LinkParts, workspaceId: string): Promise<number> {
  return catalog.links.createdSince(workspaceId, monthStart(now()));
}

const limitOf = (workspace: WorkspaceRecord) => workspaceLimits(workspace).quotas.linksPerMonth;

function refusal(workspace: WorkspaceRecord): ApiError {
  return new ApiError('forbidden', `This workspace may create ${limitOf(workspace)} links a month.`);
}

/**
 * Refuses a workspace that has used up its links of the month, before anything else is looked at.
 *
 * @throws ApiError forbidden
 */
export async function checkUsage(parts: LinkParts, workspace: WorkspaceRecord): Promise<void> {
  const limit = limitOf(workspace);
  if (limit === null || (await linksThisMonth(parts, workspace.id)) < limit) return;
  throw refusal(workspace);
}

/**
 * Creates within the plan's number of links a month, whatever is created at the same time.
 *
 * @throws ApiError forbidden
 */
export function withinUsage<T>(
  { catalog, now }: LinkParts,
  workspace: WorkspaceRecord,
  amount: number,
  create: () => Promise<T>,
): Promise<T> {
  const sinceMs = monthStart(now());
  return catalog.quotas.within(
    {
      ...{ workspaceId: workspace.id, what: 'links', amount, limit: limitOf(workspace) },
      used: () => catalog.links.createdSince(workspace.id, sinceMs),
      refusal: () => refusal(workspace),
    },
    create,
  );
}
