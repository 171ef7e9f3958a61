import type { ExportScheduleRecord } from '@waymark/catalog';
import type { ExportSchedule } from '@waymark/contract';
import { nextWindow } from './windows.js';

/** Without the fields that a later release may have stored. */
function knownDestination(destination: ExportScheduleRecord['destination']): ExportSchedule['destination'] {
  const { type, endpoint, region, bucket, prefix, forcePathStyle, accessKeyHint } = destination;
  return { type, endpoint, region, bucket, prefix, forcePathStyle, accessKeyHint };
}

/** Without the fields that a later release may have stored. */
function knownWindow(exported: NonNullable<ExportScheduleRecord['lastWindow']>): ExportSchedule['lastWindow'] {
  const { window, rows, bytes, files, manifest, finishedAt } = exported;
  return { window: { start: window.start, end: window.end }, rows, bytes, files, manifest, finishedAt };
}

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
    destination: knownDestination(destination),
    nextWindow: nextWindow(schedule),
    lastWindow: lastWindow && knownWindow(lastWindow),
    error,
    refusals,
    retryAt,
    disabledAt,
    disabledReason,
    createdAt,
    updatedAt,
  };
}
