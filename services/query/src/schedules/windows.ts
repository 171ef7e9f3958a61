import type { ExportScheduleRecord } from '@waymark/catalog';
import type { ExportFrequency, ExportWindow } from '@waymark/contract';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** 1970 began on a Thursday; weeks begin on Monday. */
const FIRST_MONDAY_MS = 4 * DAY_MS;

const LENGTH_MS: Readonly<Record<ExportFrequency, number>> = { hourly: HOUR_MS, daily: DAY_MS, weekly: 7 * DAY_MS };

/**
 * How long after its end a window is exported, in milliseconds. By then every event with a time of storage in the window must be visible,
 * because windows do not overlap: no later file would contain it. The writer takes the time of storage right before it sends an insert,
 * and ClickHouse ends an insert after 60 seconds; the rest is for writers whose clocks are behind. A repeated insert gets a new time of
 * storage, unless the first one was stored.
 */
const CLOSE_MARGIN_MS = 5 * 60_000;

/** Start of the hour, day or week of a time. */
export function windowStartAt(frequency: ExportFrequency, timeMs: number): number {
  const length = LENGTH_MS[frequency];
  const first = frequency === 'weekly' ? FIRST_MONDAY_MS : 0;
  return Math.floor((timeMs - first) / length) * length + first;
}

/** How many whole windows lie between two times. */
export function windowsBetween(frequency: ExportFrequency, fromMs: number, toMs: number): number {
  return Math.floor((toMs - fromMs) / LENGTH_MS[frequency]);
}

/** The next window to export: from the end of the last one to the end of its hour, day or week. A window that was begun keeps its end. */
export function nextWindow({
  frequency,
  exportedUntil,
  run,
}: Pick<ExportScheduleRecord, 'frequency' | 'exportedUntil' | 'run'>): ExportWindow {
  if (run !== null) return { start: exportedUntil, end: run.end };
  const endMs = windowStartAt(frequency, Date.parse(exportedUntil)) + LENGTH_MS[frequency];
  return { start: exportedUntil, end: new Date(endMs).toISOString() };
}

/** Whether every event that was stored in the window is visible. */
export function isClosed({ end }: ExportWindow, nowMs: number): boolean {
  return nowMs >= Date.parse(end) + CLOSE_MARGIN_MS;
}
