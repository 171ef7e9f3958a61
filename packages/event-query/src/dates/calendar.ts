/**
 * Calendar arithmetic (days, weeks, months, quarters, years) on local times. A local time is represented by the epoch milliseconds
 * of the same date and time in UTC, so every day has 24 hours and daylight saving plays no role. A day is represented by its midnight.
 */

export const DAY_MS = 24 * 3_600_000;

/** Dates outside these years are refused, except days and times of ISO 8601 such as `0001-01-01`. */
const YEAR_MIN = 1970;
const YEAR_MAX = 9999;

export type CalendarUnit = 'day' | 'week' | 'month' | 'quarter' | 'year';

/** Consecutive whole days: the local midnights of the first and the last one. */
export interface Days {
  readonly firstMs: number;
  readonly lastMs: number;
}

const UNIT_MONTHS = { month: 1, quarter: 3, year: 12 } as const;
const UNIT_DAYS = { day: 1, week: 7 } as const;

/** The midnight at which the day of a local time begins. */
export function midnightBefore(localMs: number): number {
  return Math.floor(localMs / DAY_MS) * DAY_MS;
}

/** Midnight of a calendar day; undefined for a day that does not exist, such as 30 February. */
export function midnightOf(year: number, month: number, day: number): number | undefined {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? date.getTime() : undefined;
}

/** Whether a local time lies in the supported years. */
export function isInCalendar(localMs: number): boolean {
  const year = new Date(localMs).getUTCFullYear();
  return year >= YEAR_MIN && year <= YEAR_MAX;
}

/** Adds months, keeping day and time; in a shorter month the last day. */
function addMonths(localMs: number, months: number): number {
  const date = new Date(localMs);
  const day = date.getUTCDate();
  date.setUTCDate(1);
  date.setUTCMonth(date.getUTCMonth() + months);
  const lastDay = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  return date.setUTCDate(Math.min(day, lastDay));
}

/** Adds `count` units (negative = subtracts), keeping the time of day. 31 January plus a month is the last day of February. */
export function addUnits(localMs: number, unit: CalendarUnit, count: number): number {
  return unit === 'day' || unit === 'week'
    ? localMs + count * UNIT_DAYS[unit] * DAY_MS
    : addMonths(localMs, count * UNIT_MONTHS[unit]);
}

/** Day of the week, 0 = Monday. */
export function weekdayOf(localMs: number): number {
  return (new Date(localMs).getUTCDay() + 6) % 7;
}

/** Midnight of the first day of the unit that contains a local time. Weeks begin on Monday. */
export function startOfUnit(localMs: number, unit: CalendarUnit): number {
  const midnight = midnightBefore(localMs);
  if (unit === 'day') return midnight;
  if (unit === 'week') return midnight - weekdayOf(midnight) * DAY_MS;
  const date = new Date(midnight);
  const month = date.getUTCMonth();
  return Date.UTC(date.getUTCFullYear(), month - (month % UNIT_MONTHS[unit]), 1);
}

/** The days of the unit that contains a local time, or of the one `offset` units later. */
export function unitDays(localMs: number, unit: CalendarUnit, offset = 0): Days {
  const firstMs = addUnits(startOfUnit(localMs, unit), unit, offset);
  return { firstMs, lastMs: addUnits(firstMs, unit, 1) - DAY_MS };
}
