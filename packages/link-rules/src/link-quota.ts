import { type WorkspaceRecord, workspaceLimits } from '@waymark/catalog';
import { ApiError } from '@waymark/contract';
import type { LinkRuleDeps } from './link-rule-deps.js';

function monthStart(nowMs: number): number {
  const today = new Date(nowMs);
  return Date.UTC(today.getUTCFullYear(), today.getUTCMonth());
}

/** Links that the workspace created this month, including deleted ones. */
export function linksThisMonth({ catalog, now }: LinkRuleDeps, workspaceId: string): Promise<number> {
  return catalog.links.createdSince(workspaceId, monthStart(now()));
}

const limitOf = (workspace: WorkspaceRecord) => workspaceLimits(workspace).quotas.linksPerMonth;

function quotaExceeded(workspace: WorkspaceRecord): ApiError {
  return new ApiError('forbidden', `This workspace may create ${limitOf(workspace)} links a month.`);
}

/**
 * Rejects a workspace whose monthly quota of links is used up, before the request is validated.
 *
 * @throws ApiError forbidden
 */
export async function checkLinkQuota(deps: LinkRuleDeps, workspace: WorkspaceRecord): Promise<void> {
  const limit = limitOf(workspace);
  if (limit === null || (await linksThisMonth(deps, workspace.id)) < limit) return;
  throw quotaExceeded(workspace);
}

/**
 * Creates links within the monthly quota, safely for concurrent requests.
 *
 * @throws ApiError forbidden
 */
export function withinLinkQuota<T>(
  { catalog, now }: LinkRuleDeps,
  workspace: WorkspaceRecord,
  amount: number,
  create: () => Promise<T>,
): Promise<T> {
  const sinceMs = monthStart(now());
  return catalog.quotas.within(
    {
      ...{ workspaceId: workspace.id, what: 'links', amount, limit: limitOf(workspace) },
      used: () => catalog.links.createdSince(workspace.id, sinceMs),
      refusal: () => quotaExceeded(workspace),
    },
    create,
  );
}
