import type { Interval } from '@waymark/contract';
import { parseDate } from './date-text.js';
import type { GivenDate } from './given-date.js';
import { DAY_MS, type Zone, zoneOf } from './zone.js';

/** What the time of an event must lie in, both ends included, and what it was made from. */
export interface TimeRange {
  /** Undefined = since ever. */
  readonly fromMs: number | undefined;
  readonly toMs: number;
  /** Canonical name. */
  readonly zone: string;
  readonly origin: RangeOrigin;
}

/** How the caller asked for the range; what plans allow is decided by this, not by the bounds (spec 1.10). */
export type RangeOrigin =
  | { readonly type: 'interval'; readonly interval: Interval; readonly nowMs: number }
  | { readonly type: 'dates'; readonly startMs: number; readonly endMs: number };

export interface RangeParameters {
  readonly interval?: Interval | undefined;
  readonly start?: string | undefined;
  readonly end?: string | undefined;
  readonly timezone?: string | undefined;
}

export const DEFAULT_INTERVAL: Interval = '24h';
export const DEFAULT_TIME_ZONE = 'UTC';
const MONTHS_OF_YEAR = 12;
const NOON_MS = DAY_MS / 2;

function midnightOf(localMs: number): number {
  return Math.floor(localMs / DAY_MS) * DAY_MS;
}

/** First midnight of a month (from 0) of the local year. */
function monthStart(localMs: number, month: number): number {
  return Date.UTC(new Date(localMs).getUTCFullYear(), month, 1);
}

/** The same local time a year earlier; 29 February becomes 28. */
function yearBefore(localMs: number): number {
  const date = new Date(localMs);
  const day = date.getUTCDate();
  date.setUTCDate(1);
  date.setUTCMonth(date.getUTCMonth() - MONTHS_OF_YEAR);
  const lastDay = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  date.setUTCDate(Math.min(day, lastDay));
  return date.getTime();
}

function intervalStart(interval: Interval, nowMs: number, zone: Zone): number | undefined {
  const localMs = zone.toLocal(nowMs);
  const month = new Date(localMs).getUTCMonth();
  switch (interval) {
    case '24h':
      return nowMs - DAY_MS;
    case '7d':
    case '30d':
    case '90d':
      return zone.toInstant(localMs - Number.parseInt(interval, 10) * DAY_MS);
    case '1y':
      return zone.toInstant(yearBefore(localMs));
    case 'mtd':
      return zone.dayStart(monthStart(localMs, month));
    case 'qtd':
      return zone.dayStart(monthStart(localMs, month - (month % 3)));
    case 'ytd':
      return zone.dayStart(monthStart(localMs, 0));
    case 'all':
      return undefined;
  }
}

/** Where a given date stands when the length of a range is measured; a day stands for its noon (spec 1.8). */
function placeOf(date: GivenDate): number {
  return date.type === 'day' ? date.midnightMs + NOON_MS : date.ms;
}

function startOf(date: GivenDate, zone: Zone): number {
  return date.type === 'day' ? zone.dayStart(date.midnightMs) : date.ms;
}

function endOf(date: GivenDate, zone: Zone): number {
  return date.type === 'day' ? zone.dayEnd(date.midnightMs) : date.ms;
}

function datesRange(start: GivenDate, end: GivenDate, zone: Zone): TimeRange {
  // The dates are swapped, not the snapped bounds: days given in the wrong order mean the same days.
  const isReversed = startOf(start, zone) > endOf(end, zone);
  const [first, last] = isReversed ? [end, start] : [start, end];
  return {
    fromMs: startOf(first, zone),
    toMs: endOf(last, zone),
    zone: zone.name,
    origin: { type: 'dates', startMs: placeOf(start), endMs: placeOf(end) },
  };
}

/**
 * The range of spec 2.3. Days given without a time are whole days in the zone, given times are exact, `end` without `start`
 * is checked and then ignored.
 *
 * @throws ApiError 422 for a date that cannot be read
 */
export function parseTimeRange(parameters: RangeParameters, nowMs: number): TimeRange {
  const zone = zoneOf(parameters.timezone ?? DEFAULT_TIME_ZONE);
  const start = parameters.start === undefined ? undefined : parseDate('start', parameters.start, nowMs);
  const end = parameters.end === undefined ? undefined : parseDate('end', parameters.end, nowMs);
  if (start !== undefined) return datesRange(start, end ?? { type: 'instant', ms: nowMs }, zone);

  const interval = parameters.interval ?? DEFAULT_INTERVAL;
  return {
    fromMs: intervalStart(interval, nowMs, zone),
    toMs: interval === '24h' ? nowMs : zone.dayEnd(midnightOf(zone.toLocal(nowMs))),
    zone: zone.name,
    origin: { type: 'interval', interval, nowMs },
  };
}
