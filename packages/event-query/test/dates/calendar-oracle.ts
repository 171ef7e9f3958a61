/**
 * Computes expected dates with an algorithm independent of the source: a day is text (`2026-03-04`) that Intl formats in the zone,
 * and searches step one day at a time.
 */

const HOUR_MS = 3_600_000;
const QUARTER_MS = HOUR_MS / 4;
/** Created once: `toLocaleDateString` creates a format at each call, which took three quarters of the CPU time of date-properties.test.ts. */
const weekdays = new Intl.DateTimeFormat('en-US', { weekday: 'long', timeZone: 'UTC' });
const months = new Intl.DateTimeFormat('en-US', { month: 'long', timeZone: 'UTC' });
const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string): Intl.DateTimeFormat {
  const format =
    formats.get(zone) ??
    new Intl.DateTimeFormat('en-CA', { timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit' });
  formats.set(zone, format);
  return format;
}

/** The day of an instant in the zone. */
export function dayAt(instantMs: number, zone: string): string {
  return formatOf(zone).format(instantMs);
}

/**
 * The first instant of a day in the zone, found by bisection in steps of a quarter of an hour.
 *
 * @throws Error if the day starts within such a step
 */
export function firstInstantOf(day: string, zone: string): number {
  const start = Date.parse(`${day}T00:00:00Z`) - 30 * HOUR_MS;
  const instantOf = (quarters: number) => start + quarters * QUARTER_MS;
  let low = 0;
  let high = (60 * HOUR_MS) / QUARTER_MS;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (dayAt(instantOf(middle), zone) >= day) high = middle;
    else low = middle;
  }
  if (dayAt(instantOf(high) - 1, zone) >= day) throw new Error(`${day} starts between quarters of an hour in ${zone}`);
  return instantOf(high);
}

export function lastInstantOf(day: string, zone: string): number {
  return firstInstantOf(walk(day, 1), zone) - 1;
}

/** The day `days` days later. */
export function walk(day: string, days: number): string {
  return new Date(Date.parse(`${day}T12:00:00Z`) + days * 24 * HOUR_MS).toISOString().slice(0, 10);
}

/** The first day that meets the condition, starting with `from` and stepping in one direction. */
export function seek(from: string, step: 1 | -1, matches: (day: string) => boolean): string {
  let day = from;
  while (!matches(day)) day = walk(day, step);
  return day;
}

/** `Monday` to `Sunday`. */
export function weekdayName(day: string): string {
  return weekdays.format(Date.parse(`${day}T12:00:00Z`));
}

/** `January` to `December`. */
export function monthName(day: string): string {
  return months.format(Date.parse(`${day}T12:00:00Z`));
}
