import { eventIdTime, exportEventsQuerySchema, fieldError } from '@waymark/contract';
import { type BoundRequest, planOneEvent, printPage } from '@waymark/event-query';
import { type ExportDeps, MEDIA_TYPES, sendList } from '@waymark/export';
import type { App } from '@waymark/http-kit';
import type { Reads } from '../reads.js';
import type { ReadRunners } from '../workspace-concurrency.js';
import { createEventsExport, type EventsExportDeps } from './events-export.js';

export interface EventsExportRouteDeps extends EventsExportDeps, ReadRunners, ExportDeps {}

/** The range of an export as query parameters with absolute times, so that a later request with them has the same range. */
function rangeText({ fromMs, toMs }: BoundRequest): string {
  return `start=${new Date(fromMs ?? 0).toISOString()}&end=${new Date(toMs).toISOString()}`;
}

/** Checks the event after which an export continues. @throws ApiError 422 when the workspace has no such event */
async function checkStart(reads: Reads, bound: BoundRequest, id: string): Promise<void> {
  const timeMs = eventIdTime(id);
  const found = timeMs === undefined ? [] : await reads.run(printPage(planOneEvent(bound, { timeMs, id })));
  if (found.length > 0) return;
  const kind = bound.kind.slice(0, -1);
  throw fieldError('invalid_value', 'startingAfter', `must be the id of a ${kind} of this workspace`);
}

/** `GET /events/export` (docs/reference/exports.md). */
export async function eventsExportRoutes(app: App, deps: EventsExportRouteDeps): Promise<void> {
  const { catalog, runSlice, exportSlots, now } = deps;
  const openExport = createEventsExport(deps);

  app.get(
    '/events/export',
    {
      exposeHeadRoute: false,
      onRequest: app.authenticate({ permission: 'analytics.read', minimumPlan: 'business', bucket: 'analytics' }),
      preValidation: (request) => catalog.eventUsage.check(request.workspace),
      schema: {
        operationId: 'exportEvents',
        summary: 'Export events as a file',
        tags: ['Events'],
        querystring: exportEventsQuerySchema,
        produces: Object.values(MEDIA_TYPES),
      },
    },
    async (request, reply) => {
      const { workspace, query } = request;
      const { startingAfter } = query;
      const { kind, columns, bound, sourceFrom } = await openExport(request, query, now());
      if (startingAfter !== undefined) {
        await runSlice(request, reply, (reads) => checkStart(reads, bound, startingAfter));
      }
      const source = sourceFrom(startingAfter, (task) => runSlice(request, reply, task));
      reply.header('x-export-range', rangeText(bound));
      const { toMs: nowMs } = bound;
      return sendList(reply, { workspaceId: workspace.id, query, what: kind, nowMs, columns, source, exportSlots });
    },
  );
}
