import type { Catalog } from '@waymark/catalog';
import { analyticsRowSchemas, exportAnalyticsQuerySchema, GROUPINGS, type Grouping } from '@waymark/contract';
import { type ExportDeps, sendTables, type Table } from '@waymark/export';
import type { App } from '@waymark/http-kit';
import { bindRequest } from '../analytics/bind-request.js';
import { readGroups } from '../analytics/read-groups.js';
import { createResponseBody } from '../analytics/response-body.js';
import type { ReadRunners } from '../workspace-concurrency.js';

export interface AnalyticsExportDeps extends ReadRunners, ExportDeps {
  readonly catalog: Catalog;
  readonly now: () => number;
}

/** `GET /analytics/export`: the answer of `GET /analytics` for each grouping. */
export async function analyticsExportRoutes(app: App, deps: AnalyticsExportDeps): Promise<void> {
  const { catalog, runSlice, exportSlots, now } = deps;
  const responseBody = createResponseBody(catalog);
  app.get(
    '/analytics/export',
    {
      exposeHeadRoute: false,
      onRequest: app.authenticate({ permission: 'analytics.read', minimumPlan: 'pro', bucket: 'analytics' }),
      preValidation: (request) => catalog.eventUsage.check(request.workspace),
      schema: {
        operationId: 'exportAnalytics',
        summary: 'Export analytics as a zip archive',
        description: 'A CSV file for each grouping of `GET /analytics`, with its rows.',
        tags: ['Analytics'],
        querystring: exportAnalyticsQuerySchema,
        produces: ['application/zip'],
      },
    },
    async (request, reply) => {
      const { workspace } = request;
      const { escapeFormulas: escapesFormulas = true, ...filters } = request.query;

      async function tableOf(groupBy: Grouping): Promise<Table> {
        const bound = await bindRequest(deps, request, { ...filters, groupBy });
        const groups = await runSlice(request, reply, (reads) => readGroups(reads, bound));
        const rows = [await responseBody(workspace.id, bound, groups)].flat() as Record<string, unknown>[];
        return { name: groupBy, columns: Object.keys(analyticsRowSchemas[groupBy].shape), rows };
      }
      async function* tables(): AsyncGenerator<Table> {
        for (const grouping of GROUPINGS) yield await tableOf(grouping);
      }

      const file = { workspaceId: workspace.id, what: 'analytics', nowMs: now() };
      return sendTables(reply, { ...file, escapesFormulas, tables: tables(), exportSlots });
    },
  );
}
