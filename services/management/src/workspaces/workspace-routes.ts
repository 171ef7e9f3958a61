import { type WorkspaceRecord, workspaceLimits } from '@waymark/catalog';
import { ApiError, PARAM_CHARS_MAX, type Workspace, workspaceSchema } from '@waymark/contract';
import type { App } from '@waymark/http-kit';
import { linksThisMonth } from '@waymark/link-rules';
import { z } from 'zod';
import type { LinkDeps } from '../links/link-deps.js';

/** The workspace object of a response. */
async function workspaceObject(deps: LinkDeps, workspace: WorkspaceRecord): Promise<Workspace> {
  const { id, name, slug, plan, allowedHostnames, defaultProgramId, createdAt, updatedAt } = workspace;
  const { eventRetentionDays = null, addressRetentionDays = null, privacySignal = 'ignore' } = workspace;
  const { quotas, requestsPerMinute, analyticsPerSecond } = workspaceLimits(workspace);
  const [usage, linksUsage] = await Promise.all([deps.catalog.eventUsage.thisMonth(id), linksThisMonth(deps, id)]);
  return {
    id,
    name,
    slug,
    plan,
    usage,
    usageLimit: quotas.eventsPerMonth,
    linksUsage,
    linksLimit: quotas.linksPerMonth,
    domainsLimit: quotas.domains,
    tagsLimit: quotas.tags,
    foldersLimit: quotas.folders,
    partnersLimit: quotas.partners,
    partnerTagsLimit: quotas.partnerTags,
    groupsLimit: quotas.partnerGroups,
    requestsPerMinute,
    analyticsPerSecond,
    allowedHostnames,
    defaultProgramId,
    createdAt,
    updatedAt,
    eventRetentionDays,
    addressRetentionDays,
    privacySignal,
  };
}

/** `GET /workspaces/{idOrSlug}`: a key can read only its own workspace; other names answer 404 without a look-up. */
export async function workspaceRoutes(app: App, deps: LinkDeps): Promise<void> {
  app.get(
    '/workspaces/:idOrSlug',
    {
      onRequest: app.authenticate({ permission: 'workspaces.read' }),
      schema: {
        summary: 'Retrieve the workspace of the key, with its usage and limits',
        tags: ['Workspaces'],
        params: z.object({
          idOrSlug: z.string().max(PARAM_CHARS_MAX).describe('Id or slug of the workspace of the key.'),
        }),
        response: { 200: workspaceSchema },
      },
    },
    async ({ params: { idOrSlug }, workspace }) => {
      if (idOrSlug !== workspace.id && idOrSlug.toLowerCase() !== workspace.slug) {
        throw new ApiError('not_found', 'Workspace not found.');
      }
      return workspaceObject(deps, workspace);
    },
  );
}
