import { type WorkspaceRecord, workspaceLimits } from '@waymark/catalog';
import { ApiError } from '@waymark/contract';
import type { LinkRuleDeps } from './link-rule-deps.js';

function monthStart(nowMs: number): number {
  const today = new Date(nowMs);
  return Date.UTC(today.getUTCFullYear(), today.getUTCMonth());
}

/** The number of links that the workspace has created in the calendar month (UTC), including deleted ones, without root links. */
export function linksThisMonth({ catalog, now }: LinkRuleDeps, workspaceId: string): Promise<number> {
  return catalog.links.createdSince(workspaceId, monthStart(now()));
}

const limitOf = (workspace: WorkspaceRecord) => workspaceLimits(workspace).quotas.linksPerMonth;

function quotaExceeded(workspace: WorkspaceRecord): ApiError {
  return new ApiError('forbidden', `This workspace may create ${limitOf(workspace)} links a month.`);
}

/**
 * Rejects a request early when the monthly quota of links is used up. Only {@link withinLinkQuota} is exact.
 *
 * @throws ApiError forbidden
 */
export async function checkLinkQuota(deps: LinkRuleDeps, workspace: WorkspaceRecord): Promise<void> {
  const limit = limitOf(workspace);
  if (limit === null || (await linksThisMonth(deps, workspace.id)) < limit) return;
  throw quotaExceeded(workspace);
}

/**
 * Runs `create` if the monthly quota has room for the links. Exact for concurrent requests too (`packages/catalog/src/redis/quotas.ts`).
 *
 * @param amount how many links `create` creates
 * @throws ApiError forbidden when the quota has no room; the error of `create`
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
      workspaceId: workspace.id,
      what: 'links',
      amount,
      limit: limitOf(workspace),
      used: () => catalog.links.createdSince(workspace.id, sinceMs),
      refusal: () => quotaExceeded(workspace),
    },
    create,
  );
}
