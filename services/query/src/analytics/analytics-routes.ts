import type { Catalog } from '@waymark/catalog';
import { analyticsAnswerSchema, analyticsQuerySchema } from '@waymark/contract';
import { type App, sendJson } from '@waymark/http-kit';
import { whileUsageChecked } from '../usage-check.js';
import type { RunReads } from '../workspace-concurrency.js';
import { bindRequest } from './bind-request.js';
import { readGroups } from './read-groups.js';
import { createResponseBody } from './response-body.js';

export interface AnalyticsRouteDeps {
  readonly catalog: Catalog;
  readonly runReads: RunReads;
  readonly now: () => number;
}

/** `GET /analytics` (docs/reference/analytics.md). */
export async function analyticsRoutes(app: App, deps: AnalyticsRouteDeps): Promise<void> {
  const { catalog, runReads } = deps;
  const responseBody = createResponseBody(catalog);
  app.get(
    '/analytics',
    {
      onRequest: app.authenticate({ permission: 'analytics.read', minimumPlan: 'pro', bucket: 'analytics' }),
      attachValidation: true,
      schema: {
        operationId: 'retrieveAnalytics',
        summary: 'Retrieve analytics',
        tags: ['Analytics'],
        querystring: analyticsQuerySchema,
        response: { 200: analyticsAnswerSchema },
      },
    },
    async (request, reply) => {
      const body = await whileUsageChecked(catalog, request, async () => {
        const bound = await bindRequest(deps, request, request.query);
        const groups = await runReads(request, reply, (reads) => readGroups(reads, bound));
        return responseBody(request.workspace.id, bound, groups);
      });
      return sendJson(reply, body);
    },
  );
}
