/**
 * Arithmetic with days, weeks, months, quarters and years on local times. A local time is held as the epoch milliseconds it would
 * have in UTC, so a day is its midnight and no clock change interferes.
 */

export const DAY_MS = 24 * 3_600_000;

/** The only years that words may lead to. */
const YEAR_MIN = 1970;
const YEAR_MAX = 9999;

export type CalendarUnit = 'day' | 'week' | 'month' | 'quarter' | 'year';

/** Whole days of a calendar, by the local midnights of the first and of the last one. */
export interface Days {
  readonly firstMs: number;
  readonly lastMs: number;
}

const UNIT_MONTHS = { month: 1, quarter: 3, year: 12 } as const;
const UNIT_DAYS = { day: 1, week: 7 } as const;

/** The midnight that a local time's day begins with. */
export function midnightBefore(localMs: number): number {
  return Math.floor(localMs / DAY_MS) * DAY_MS;
}

/** Midnight of a calendar day; undefined when there is no such day. */
export function midnightOf(year: number, month: number, day: number): number | undefined {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? date.getTime() : undefined;
}

/** Whether the year of a local time is one that words may lead to. */
export function isInCalendar(localMs: number): boolean {
  const year = new Date(localMs).getUTCFullYear();
  return year >= YEAR_MIN && year <= YEAR_MAX;
}

/** The same day and time so many months on, or the last day of a month that is shorter. */
function addMonths(localMs: number, months: number): number {
  const date = new Date(localMs);
  const day = date.getUTCDate();
  date.setUTCDate(1);
  date.setUTCMonth(date.getUTCMonth() + months);
  const lastDay = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  return date.setUTCDate(Math.min(day, lastDay));
}

/** The same time of day so many units on, back when `count` is negative; 31 January and a month is the last of February. */
export function addUnits(localMs: number, unit: CalendarUnit, count: number): number {
  return unit === 'day' || unit === 'week'
    ? localMs + count * UNIT_DAYS[unit] * DAY_MS
    : addMonths(localMs, count * UNIT_MONTHS[unit]);
}

/** Day of the week, 0 = Monday. */
export function weekdayOf(localMs: number): number {
  return (new Date(localMs).getUTCDay() + 6) % 7;
}

/** Midnight of the first day of the unit that a local time lies in. Weeks begin on Monday. */
export function startOfUnit(localMs: number, unit: CalendarUnit): number {
  const midnight = midnightBefore(localMs);
  if (unit === 'day') return midnight;
  if (unit === 'week') return midnight - weekdayOf(midnight) * DAY_MS;
  const date = new Date(midnight);
  const month = date.getUTCMonth();
  return Date.UTC(date.getUTCFullYear(), month - (month % UNIT_MONTHS[unit]), 1);
}

/** The unit that a local time lies in, or the one so many units on. */
export function unitDays(localMs: number, unit: CalendarUnit, offset = 0): Days {
  const firstMs = addUnits(startOfUnit(localMs, unit), unit, offset);
  return { firstMs, lastMs: addUnits(firstMs, unit, 1) - DAY_MS };
}
