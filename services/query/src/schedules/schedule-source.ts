import type { ExportScheduleRecord, KeyCaller } from '@waymark/catalog';
import { EXPORT_FILTER_SCHEMAS, mapErrorFields, scheduleFiltersSchema } from '@waymark/contract';
import type { StoredWindow } from '@waymark/event-query';
import type { ExportSource } from '@waymark/export';
import { createEventsExport, type EventsExport, type EventsExportDeps } from '../export/events-export.js';
import { bodyField, parseFilters } from '../jobs/body-fields.js';
import type { ReadRunners } from '../workspace-concurrency.js';

export interface ScheduleSourceDeps extends EventsExportDeps, Pick<ReadRunners, 'runJobSlice'> {}

/** The part of a schedule that selects events and columns. */
export type ScheduleRequest = Pick<ExportScheduleRecord, 'columns' | 'filters'>;

/** A window whose request is valid. Nothing of it has been read yet. */
export interface OpenedWindow extends Pick<EventsExport, 'kind' | 'columns'> {
  /** The events in the order in which they happened. @param after id of the last event that was exported @param signal cancels the reads */
  readonly sourceFrom: (after: string | null, signal: AbortSignal) => ExportSource;
}

/** How far the clock of a process that gives events their time may be ahead of the clock of the writer. */
const AHEAD_MS_MAX = 24 * 3_600_000;

/** Creates the function that checks a schedule's request and returns how to read a window. */
export function createScheduleSource(deps: ScheduleSourceDeps) {
  const { runJobSlice } = deps;
  const openEvents = createEventsExport(deps);

  /**
   * Checks a request with the permissions of its key, and looks up the records that its filters name.
   *
   * @param stored the window: only events whose time of storage is in it are read
   * @throws ApiError 403, 404 or 422, which names fields by their path in the body of the request
   */
  return (caller: KeyCaller, { columns, filters }: ScheduleRequest, stored: StoredWindow): Promise<OpenedWindow> =>
    mapErrorFields(bodyField, async () => {
      // First with the schema of schedules, which refuses the parameters for ranges and orders that exports accept otherwise.
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
          const reader = { endpoint: 'POST /exports/schedules', workspaceId, requestId: 'schedule', signal };
          return opened.sourceFrom(after ?? undefined, (task) => runJobSlice(reader, task));
        },
      };
    });
}
export type OpenWindow = ReturnType<typeof createScheduleSource>;
