import type { Catalog } from '@waymark/catalog';
import {
  analyticsRowSchemas,
  csvItems,
  exportAnalyticsQuerySchema,
  fieldError,
  GROUPINGS,
  type Grouping,
} from '@waymark/contract';
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

/** @throws ApiError 422 for a grouping that does not exist */
function chooseGroupings(names: string | undefined): readonly Grouping[] {
  const named = csvItems(names ?? '');
  if (named.length === 0) return GROUPINGS;
  const groupings = named.map((name) => {
    const grouping = name === 'trigger' ? 'triggers' : GROUPINGS.find((known) => known === name);
    if (grouping !== undefined) return grouping;
    throw fieldError('invalid_value', 'groupBy', `must be a list of these groupings: ${GROUPINGS.join(', ')}`);
  });
  return [...new Set(groupings)];
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
      const { escapeFormulas: escapesFormulas = true, groupBy: names, ...filters } = request.query;
      const groupings = chooseGroupings(names);

      async function tableOf(groupBy: Grouping): Promise<Table> {
        const bound = await bindRequest(deps, request, { ...filters, groupBy });
        const groups = await runSlice(request, reply, (reads) => readGroups(reads, bound));
        const rows = [await responseBody(workspace.id, bound, groups)].flat() as Record<string, unknown>[];
        return { name: groupBy, columns: Object.keys(analyticsRowSchemas[groupBy].shape), rows };
      }
      async function* tables(): AsyncGenerator<Table> {
        for (const grouping of groupings) yield await tableOf(grouping);
      }

      const file = { workspaceId: workspace.id, what: 'analytics', nowMs: now() };
      return sendTables(reply, { ...file, escapesFormulas, tables: tables(), exportSlots });
    },
  );
}
