import { zoneOf } from '@waymark/event-query';
import { RowError } from './source-link.js';

const PARTS = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?\s*(Z|[+-]\d\d(?::?\d\d)?)?$/i;
const DIGITS = /^\d{1,17}(?:\.\d{1,6})?$/;
/** Larger numbers are milliseconds since 1970, smaller ones seconds. */
const SECONDS_MAX = 100_000_000_000;
/** A time outside these years is taken for an error of the source. */
const [YEAR_MIN, YEAR_MAX] = [1990, 2199];

/** What JavaScript makes of a date as text: `Wed Mar 04 2026 12:30:45 GMT+0000 (Coordinated Universal Time)`. */
const DATE_TEXT = /^[A-Z][a-z]{2} ([A-Z][a-z]{2}) (\d\d) (\d{4}) (\d\d:\d\d:\d\d) GMT([+-]\d{4})(?: \([^()]*\))?$/;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Converts a date that JavaScript has written as text, which has no milliseconds, to ISO 8601; other values are returned as they are. */
export function isoOfDateText(value: unknown): unknown {
  const [, month = '', day, year, time, zone] = (typeof value === 'string' && DATE_TEXT.exec(value)) || [];
  const number = MONTHS.indexOf(month) + 1;
  return number === 0 ? value : `${year}-${String(number).padStart(2, '0')}-${day}T${time}${zone}`;
}

/** Whether the text names a time zone that `--timezone` accepts. */
export function isTimezone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

function offsetMs(zone: string): number {
  if (zone.toUpperCase() === 'Z') return 0;
  // ISO 8601 allows a zone of hours only, which PostgreSQL writes.
  const minutes = Number(zone.slice(1, 3)) * 60 + (zone.length > 3 ? Number(zone.slice(-2)) : 0);
  return minutes * 60_000 * (zone.startsWith('-') ? -1 : 1);
}

function fromText(field: string, text: string, timezone: string | undefined): number {
  const [, year, month, day, hour, minute, second = '0', fraction = '', zone] = PARTS.exec(text) ?? [];
  if (year === undefined) {
    throw new RowError(`${field} "${text.slice(0, 40)}" must be a time such as 2024-01-31T12:00:00Z`);
  }
  const parts = [year, month, day, hour ?? '0', minute ?? '0', second, fraction.padEnd(3, '0').slice(0, 3)].map(Number);
  const [y = 0, mo = 0, d = 0, h = 0, mi = 0, s = 0, ms = 0] = parts;
  // The year is set by itself, because Date.UTC takes 95 for 1995.
  const asUtc = new Date(Date.UTC(2000, mo - 1, d, h, mi, s, ms)).setUTCFullYear(y);
  // Date.UTC accepts February 30, and returns a day in March.
  if (new Date(asUtc).getUTCDate() !== d || mo < 1 || mo > 12 || h > 23 || mi > 59 || s > 59) {
    throw new RowError(`${field} "${text}" is no time that exists`);
  }
  if (zone !== undefined) return asUtc - offsetMs(zone);
  // A day without a time of day counts as midnight UTC, whatever the zone is.
  if (hour === undefined) return asUtc;
  if (timezone === undefined)
    throw new RowError(`${field} "${text}" has no time zone: name it with the option timezone`);
  return zoneOf(timezone).toInstant(asUtc);
}

/**
 * Converts a time of a source to ISO 8601 in UTC with milliseconds. Accepts ISO 8601 with or without a zone, `2024-01-31 12:00:00`, a day,
 * and seconds or milliseconds since 1970.
 *
 * @param timezone IANA zone of times without a zone
 * @returns null for an empty value or 0
 * @throws RowError for any other value, and for a time before 1990 or after 2199
 */
export function timeOf(field: string, value: unknown, timezone?: string): string | null {
  if (value === null || value === undefined || value === '') return null;
  if (typeof value !== 'string' && typeof value !== 'number') throw new RowError(`${field} must be a time`);
  const text = String(value).trim();
  const number = DIGITS.test(text) ? Number(text) : undefined;
  if (number === 0) return null;
  const ms = number === undefined ? fromText(field, text, timezone) : number > SECONDS_MAX ? number : number * 1000;
  const time = new Date(Math.floor(ms));
  const year = time.getUTCFullYear();
  if (!(year >= YEAR_MIN && year <= YEAR_MAX)) {
    throw new RowError(`${field} "${text}" is not between the years ${YEAR_MIN} and ${YEAR_MAX}`);
  }
  return time.toISOString();
}
