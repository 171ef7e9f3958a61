import type { Catalog } from '@waymark/catalog';
import { analyticsAnswerSchema, analyticsQuerySchema } from '@waymark/contract';
import { type App, sendJsonText, type UnsentAnswers } from '@waymark/http-kit';
import { callerOf } from '../events/find-references.js';
import { whileUsageChecked } from '../usage-check.js';
import type { RunReads } from '../workspace-concurrency.js';
import { bindRequest } from './bind-request.js';
import { readUnsentGroups, textOfRows } from './read-answer.js';
import { createAnswerOf } from './response-body.js';

export interface AnalyticsRouteDeps {
  readonly catalog: Catalog;
  readonly runReads: RunReads;
  readonly unsentAnswers: UnsentAnswers;
  readonly now: () => number;
}

/** `GET /analytics` (docs/reference/analytics.md). */
export async function analyticsRoutes(app: App, deps: AnalyticsRouteDeps): Promise<void> {
  const { catalog } = deps;
  const answerOf = createAnswerOf(catalog);
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
      const text = await whileUsageChecked(catalog, request, async () => {
        const bound = await bindRequest(deps, request, request.query);
        const read = await readUnsentGroups(deps, request, reply, bound);
        const answer = answerOf(callerOf(request), bound, read.groups);
        return 'rows' in answer ? textOfRows(answer.rows, read) : JSON.stringify(answer.numbers);
      });
      return sendJsonText(reply, text);
    },
  );
}
