import { type Catalog, linkVisibility } from '@waymark/catalog';
import { ApiError, analyticsAnswerSchema, analyticsQuerySchema } from '@waymark/contract';
import { bindAnalytics, checkDateRange, parseAnalytics } from '@waymark/event-query';
import { type App, sendJsonText } from '@waymark/http-kit';
import { findReferences } from '../events/find-references.js';
import type { RunReads } from '../workspace-concurrency.js';
import { readGroups } from './read-groups.js';
import { createResponseBody } from './response-body.js';

export interface AnalyticsRouteDeps {
  readonly catalog: Catalog;
  readonly runReads: RunReads;
  readonly now: () => number;
}

/** Refuses a program other than the workspace's own, whereas `GET /events` returns an empty list for it. */
function checkProgram(programId: string | undefined, ownProgramId: string | null): void {
  if (programId === undefined || programId === ownProgramId) return;
  throw new ApiError('forbidden', 'The program does not belong to this workspace.');
}

/** `GET /analytics`. */
export async function analyticsRoutes(app: App, deps: AnalyticsRouteDeps): Promise<void> {
  const { catalog, runReads, now } = deps;
  const responseBody = createResponseBody(catalog);
  app.get(
    '/analytics',
    {
      onRequest: app.authenticate({ permission: 'analytics.read', minimumPlan: 'pro', bucket: 'analytics' }),
      preValidation: (request) => catalog.eventUsage.check(request.workspace),
      schema: {
        operationId: 'retrieveAnalytics',
        summary: 'Retrieve analytics',
        tags: ['Analytics'],
        querystring: analyticsQuerySchema,
        response: { 200: analyticsAnswerSchema },
      },
    },
    async (request, reply) => {
      const { workspace, query } = request;
      const createdAtMs = Date.parse(workspace.createdAt);
      const parsed = parseAnalytics(query, { nowMs: now(), createdAtMs });
      checkDateRange(workspace.plan, parsed.filters.range, createdAtMs);
      checkProgram(query.programId, workspace.defaultProgramId);
      const caller = { workspaceId: workspace.id, visibility: linkVisibility(request.apiKey) };
      const references = await findReferences(catalog, caller, parsed.filters);
      const scope = { workspaceId: workspace.id, programId: workspace.defaultProgramId, ...references };
      const bound = bindAnalytics(parsed, scope);
      const groups = await runReads(request, reply, (reads) => readGroups(reads, bound));
      return sendJsonText(reply, JSON.stringify(await responseBody(workspace.id, bound, groups)));
    },
  );
}
