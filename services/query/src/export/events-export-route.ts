import type { Catalog } from '@waymark/catalog';
import { EVENT_COLUMNS, eventIdTime, exportEventsQuerySchema, fieldError } from '@waymark/contract';
import { type BoundRequest, type Position, parseExport, planOneEvent, print } from '@waymark/event-query';
import { chooseColumns, type ExportDeps, MEDIA_TYPES, type PagedList, sendList, slicesOf } from '@waymark/export';
import type { App } from '@waymark/http-kit';
import { bindEvents } from '../events/bind-events.js';
import type { EventPageRow } from '../events/event-text.js';
import { positionOf } from '../events/next-link.js';
import { createPageTexts, pageItems } from '../events/page-text.js';
import { createPrefetcher } from '../events/prefetch.js';
import { readLargePage } from '../events/read-page.js';
import type { Reads } from '../reads.js';
import type { ReadRunners } from '../workspace-concurrency.js';
import { EVENT_COLUMN_SOURCES } from './event-columns.js';

export interface EventsExportDeps extends ReadRunners, ExportDeps {
  readonly catalog: Catalog;
  readonly now: () => number;
}

/** Rows that a statement reads: about 8 MB. With a thousand, ClickHouse takes twice the CPU time for a row. */
const PAGE_ROWS = 4000;

/** The range of an export as parameters that give the same range at any later time. */
function rangeText({ fromMs, toMs }: BoundRequest): string {
  return `start=${new Date(fromMs ?? 0).toISOString()}&end=${new Date(toMs).toISOString()}`;
}

/**
 * The position of the event after which an export continues.
 *
 * @throws ApiError 422 when the workspace has no such event
 */
async function startPosition(reads: Reads, bound: BoundRequest, id: string): Promise<Position> {
  const timeMs = eventIdTime(id);
  const position = timeMs === undefined ? undefined : { timeMs, id };
  const found = position === undefined ? [] : await reads.run(print(planOneEvent(bound, position)));
  if (position !== undefined && found.length > 0) return position;
  const kind = bound.kind.slice(0, -1);
  throw fieldError('invalid_value', 'startingAfter', `must be the id of a ${kind} of this workspace`);
}

/** `GET /events/export`. */
export async function eventsExportRoutes(app: App, deps: EventsExportDeps): Promise<void> {
  const { catalog, runSlice, yieldToReads, exportSlots, now } = deps;
  const texts = createPageTexts(catalog);
  const linkPrefetcher = createPrefetcher(catalog.links.cachedCounters, catalog.links.counters);
  const customerPrefetcher = createPrefetcher(catalog.customers.cachedCounters, catalog.customers.counters);

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
      const { event: kind = 'clicks', startingAfter } = query;
      const columns = chooseColumns(query.columns, EVENT_COLUMNS[kind], EVENT_COLUMN_SOURCES);
      const parsed = parseExport(query, now(), { limit: PAGE_ROWS, after: undefined });
      const { caller, bound } = await bindEvents(catalog, request, parsed);
      const start =
        startingAfter === undefined
          ? undefined
          : await runSlice(request, reply, (reads) => startPosition(reads, bound, startingAfter));

      const list: PagedList<EventPageRow> = {
        pageRows: PAGE_ROWS,
        readPage(last) {
          const after = last === undefined ? start : positionOf(last);
          const page = { ...bound, page: { ...bound.page, after } };
          return runSlice(request, reply, (reads) => readLargePage(reads, page));
        },
        async itemsOf(rows) {
          await yieldToReads();
          const counters = {
            linkCounters: linkPrefetcher.start(workspace.id, kind),
            customerTotals: customerPrefetcher.start(workspace.id, kind),
          };
          return pageItems({ ...deps, ...texts, ...counters }, caller, kind, rows);
        },
        idOf: ([id]) => id,
      };
      reply.header('x-export-range', rangeText(bound));
      const source = slicesOf(list);
      const { toMs: nowMs } = bound;
      return sendList(reply, { workspaceId: workspace.id, query, what: kind, nowMs, columns, source, exportSlots });
    },
  );
}
