import { type Catalog, linkSight } from '@waymark/catalog';
import { ApiError, analyticsAnswerSchema, analyticsQuerySchema } from '@waymark/contract';
import { bindAnalytics, checkDateRange, parseAnalytics } from '@waymark/event-query';
import { type App, sendJsonText } from '@waymark/http-kit';
import { findReferences } from '../events/find-references.js';
import type { InTurn } from '../in-turn.js';
import { createAnswerBody } from './answer.js';
import { readGroups } from './read-groups.js';

export interface AnalyticsRouteParts {
  readonly catalog: Catalog;
  readonly inTurn: InTurn;
  readonly now: () => number;
}

/** A program other than the workspace's own is refused here, while `GET /events` finds nothing of it. */
function checkProgram(programId: string | undefined, ownProgramId: string | null): void {
  if (programId === undefined || programId === ownProgramId) return;
  throw new ApiError('forbidden', 'The program does not belong to this workspace.');
}

/** `GET /analytics`. */
export async function analyticsRoutes(app: App, parts: AnalyticsRouteParts): Promise<void> {
  const { catalog, inTurn, now } = parts;
  const answerBody = createAnswerBody(catalog);
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
      const caller = { workspaceId: workspace.id, sight: linkSight(request.apiKey) };
      const references = await findReferences(catalog, caller, parsed.filters);
      const scope = { workspaceId: workspace.id, programId: workspace.defaultProgramId, ...references };
      const bound = bindAnalytics(parsed, scope);
      const groups = await inTurn(request, reply, (reads) => readGroups(reads, bound));
      return sendJsonText(reply, JSON.stringify(await answerBody(workspace.id, bound, groups)));
    },
  );
}
