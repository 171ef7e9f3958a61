import type { Interval } from '@waymark/contract';
import { addUnits, DAY_MS, midnightBefore, startOfUnit } from './calendar.js';
import { parseDate } from './date-text.js';
import { firstInstant, lastInstant, type ParsedDate } from './parsed-date.js';
import { type Zone, zoneOf } from './zone.js';

/** The time range of a request in epoch milliseconds, both ends included, and where it comes from. */
export interface TimeRange {
  /** Undefined = no lower bound. */
  readonly fromMs: number | undefined;
  readonly toMs: number;
  /** Canonical name of the time zone. */
  readonly zone: string;
  readonly origin: RangeOrigin;
}

/** How the request specified the range. The limits of plans apply to this, not to the resulting bounds. */
export type RangeOrigin =
  | { readonly type: 'interval'; readonly interval: Interval; readonly nowMs: number }
  | { readonly type: 'dates'; readonly startMs: number; readonly endMs: number };

/** The parameters of a request that determine its range, as texts. */
export interface RangeParameters {
  readonly interval?: Interval | undefined;
  readonly start?: string | undefined;
  readonly end?: string | undefined;
  readonly timezone?: string | undefined;
}

export const DEFAULT_INTERVAL: Interval = '24h';
export const DEFAULT_TIME_ZONE = 'UTC';
const NOON_MS = DAY_MS / 2;

function intervalStart(interval: Interval, nowMs: number, zone: Zone): number | undefined {
  const localMs = zone.toLocal(nowMs);
  switch (interval) {
    case '24h':
      return nowMs - DAY_MS;
    case '7d':
    case '30d':
    case '90d':
      return zone.toInstant(localMs - Number.parseInt(interval, 10) * DAY_MS);
    case '1y':
      return zone.toInstant(addUnits(localMs, 'year', -1));
    case 'mtd':
      return zone.dayStart(startOfUnit(localMs, 'month'));
    case 'qtd':
      return zone.dayStart(startOfUnit(localMs, 'quarter'));
    case 'ytd':
      return zone.dayStart(startOfUnit(localMs, 'year'));
    case 'all':
      return undefined;
  }
}

/**
 * The two points between which the length of a range is measured for the limits of plans. A day counts as its noon. A day counted from now
 * counts as the same time of that day if the other end is no day: otherwise the length of `30 days ago` until now would depend on the time
 * of day.
 */
function measuredBounds(first: ParsedDate, last: ParsedDate, zone: Zone): { startMs: number; endMs: number } {
  const areDays = first.type === 'days' && last.type === 'days';
  const timeOf = (dayMs: number, atMs: number | undefined) =>
    areDays ? dayMs + NOON_MS : zone.toInstant(atMs ?? dayMs + NOON_MS);
  return {
    startMs: first.type === 'days' ? timeOf(first.firstMs, first.atMs) : firstInstant(first, zone),
    endMs: last.type === 'days' ? timeOf(last.lastMs, last.atMs) : lastInstant(last, zone),
  };
}

function datesRange(start: ParsedDate, end: ParsedDate, zone: Zone): TimeRange {
  // Swap the dates before they are expanded to whole days, so that reversed dates give the same range.
  const isReversed = firstInstant(start, zone) > lastInstant(end, zone);
  const [first, last] = isReversed ? [end, start] : [start, end];
  return {
    fromMs: firstInstant(first, zone),
    toMs: lastInstant(last, zone),
    zone: zone.name,
    origin: { type: 'dates', ...measuredBounds(first, last, zone) },
  };
}

/**
 * Parses the time range of a request, as `docs/reference/dates.md` describes it. Days and longer periods are whole in the zone of the
 * request, times are exact. `end` without `start` is validated and then ignored.
 *
 * @throws ApiError 422 for an invalid date
 */
export function parseTimeRange(parameters: RangeParameters, nowMs: number): TimeRange {
  const zone = zoneOf(parameters.timezone ?? DEFAULT_TIME_ZONE);
  const context = { nowMs, zone, nearest: 'past' } as const;
  const start = parameters.start === undefined ? undefined : parseDate('start', parameters.start, context);
  const end = parameters.end === undefined ? undefined : parseDate('end', parameters.end, context);
  if (start !== undefined) return datesRange(start, end ?? { type: 'instant', ms: nowMs }, zone);

  const interval = parameters.interval ?? DEFAULT_INTERVAL;
  return {
    fromMs: intervalStart(interval, nowMs, zone),
    toMs: interval === '24h' ? nowMs : zone.dayEnd(midnightBefore(zone.toLocal(nowMs))),
    zone: zone.name,
    origin: { type: 'interval', interval, nowMs },
  };
}
