import type { ExportScheduleRecord } from '@waymark/catalog';
import type { ExportSchedule } from '@waymark/contract';
import { nextWindow } from './windows.js';

/** The schedule object of responses and webhooks. It contains nothing of the credentials but the last characters of the access key id. */
export function scheduleObject(schedule: ExportScheduleRecord): ExportSchedule {
  const { id, resource, frequency, format, columns, escapeFormulas, rowsPerFile, filters } = schedule;
  const { destination, lastWindow, error, refusals, retryAt, disabledAt, disabledReason, createdAt, updatedAt } =
    schedule;
  return {
    id,
    resource,
    frequency,
    format,
    columns,
    escapeFormulas,
    rowsPerFile,
    filters,
    destination,
    nextWindow: nextWindow(schedule),
    lastWindow,
    error,
    refusals,
    retryAt,
    disabledAt,
    disabledReason,
    createdAt,
    updatedAt,
  };
}
