import type { ExportScheduleRecord } from '@waymark/catalog';
import { EXPORT_FILTER_SCHEMAS, eventIdTime, mapErrorFields, scheduleFiltersSchema } from '@waymark/contract';
import type { StoredWindow } from '@waymark/event-query';
import type { ExportSource } from '@waymark/export';
import type { LinkCaller } from '@waymark/record-lists';
import { createEventsExport, type EventsExport, type EventsExportDeps } from '../export/events-export.js';
import { bodyField, parseFilters } from '../jobs/body-fields.js';
import type { ReadRunners } from '../workspace-concurrency.js';

export interface ScheduleSourceDeps extends EventsExportDeps, Pick<ReadRunners, 'runJobSlice'> {}

/** What a schedule exports. */
export type ScheduleRequest = Pick<ExportScheduleRecord, 'columns' | 'filters'>;

/** A window that can be read. */
export interface OpenedWindow extends Pick<EventsExport, 'kind' | 'columns'> {
  /** The events in the order in which they happened. @param after id of the last event that was read; @param signal ends the reads */
  readonly sourceFrom: (after: string | null, signal: AbortSignal) => ExportSource;
}

/** Clocks of those who send events may go ahead of those who store them. */
const AHEAD_MS_MAX = 24 * 3_600_000;

/** How schedules read what they export. */
export function createScheduleSource(deps: ScheduleSourceDeps) {
  const { runJobSlice } = deps;
  const openEvents = createEventsExport(deps);

  /**
   * Checks a request with the access of its key, and looks up what it refers to.
   *
   * @throws ApiError 403, 404 or 422, which names fields as the body of the request has them
   */
  return (caller: LinkCaller, { columns, filters }: ScheduleRequest, stored: StoredWindow): Promise<OpenedWindow> =>
    mapErrorFields(bodyField, async () => {
      // Checked by itself, so that the parameters of ranges and orders are unknown.
      const selected = await parseFilters(scheduleFiltersSchema, filters);
      const query = {
        ...(await parseFilters(EXPORT_FILTER_SCHEMAS.events, { ...filters, interval: 'all', sortOrder: 'asc' })),
        ...selected,
        columns: columns?.join(','),
      };
      const opened = await openEvents(caller, query, stored.toMs + AHEAD_MS_MAX, stored);
      const workspaceId = caller.workspace.id;
      return {
        kind: opened.kind,
        columns: opened.columns,
        sourceFrom(after, signal) {
          const start = after === null ? undefined : { timeMs: eventIdTime(after) ?? 0, id: after };
          const reader = { endpoint: 'POST /exports/schedules', workspaceId, requestId: 'schedule', signal };
          return opened.sourceFrom(start, (task) => runJobSlice(reader, task));
        },
      };
    });
}
export type OpenWindow = ReturnType<typeof createScheduleSource>;
