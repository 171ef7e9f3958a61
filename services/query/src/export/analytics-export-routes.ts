import type { Catalog } from '@waymark/catalog';
import { exportAnalyticsQuerySchema } from '@waymark/contract';
import { type ExportDeps, sendTables } from '@waymark/export';
import type { App } from '@waymark/http-kit';
import type { ReadRunners } from '../workspace-concurrency.js';
import { createAnalyticsTables } from './analytics-tables.js';

export interface AnalyticsExportDeps extends ReadRunners, ExportDeps {
  readonly catalog: Catalog;
  readonly now: () => number;
}

/** `GET /analytics/export`: the answers of `GET /analytics` for several groupings, as one archive (docs/reference/exports.md). */
export async function analyticsExportRoutes(app: App, deps: AnalyticsExportDeps): Promise<void> {
  const { catalog, runSlice, exportSlots, now } = deps;
  const openTables = createAnalyticsTables(catalog);
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
      const nowMs = now();
      const { escapeFormulas: escapesFormulas = true, ...query } = request.query;
      const tables = await openTables(request, query, nowMs);
      const file = { workspaceId: workspace.id, what: 'analytics', nowMs };
      return sendTables(reply, {
        ...file,
        escapesFormulas,
        tables: tables((task) => runSlice(request, reply, task)),
        exportSlots,
      });
    },
  );
}
