import type { Interval } from '@waymark/contract';
import { addUnits, DAY_MS, midnightBefore, startOfUnit } from './calendar.js';
import { parseDate } from './date-text.js';
import { firstInstant, type GivenDate, lastInstant } from './given-date.js';
import { type Zone, zoneOf } from './zone.js';

/** What the time of an event must lie in, both ends included, and what it was made from. */
export interface TimeRange {
  /** Undefined = since ever. */
  readonly fromMs: number | undefined;
  readonly toMs: number;
  /** Canonical name. */
  readonly zone: string;
  readonly origin: RangeOrigin;
}

/** How the caller asked for the range; what plans allow is decided by this, not by the bounds. */
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

/** Where the bounds of a range stand when its length is measured; a day stands for its noon. */
function placesOf(first: GivenDate, last: GivenDate, zone: Zone): { startMs: number; endMs: number } {
  return {
    startMs: first.type === 'days' ? first.firstMs + NOON_MS : firstInstant(first, zone),
    endMs: last.type === 'days' ? last.lastMs + NOON_MS : lastInstant(last, zone),
  };
}

function datesRange(start: GivenDate, end: GivenDate, zone: Zone): TimeRange {
  // The dates are swapped, not the snapped bounds: days given in the wrong order mean the same days.
  const isReversed = firstInstant(start, zone) > lastInstant(end, zone);
  const [first, last] = isReversed ? [end, start] : [start, end];
  return {
    fromMs: firstInstant(first, zone),
    toMs: lastInstant(last, zone),
    zone: zone.name,
    origin: { type: 'dates', ...placesOf(first, last, zone) },
  };
}

/**
 * The range that the parameters mean (`docs/reference/dates.md`). Days and longer periods are whole in the zone, given times are
 * exact, `end` without `start` is checked and then ignored.
 *
 * @throws ApiError 422 for a date that cannot be read
 */
export function parseTimeRange(parameters: RangeParameters, nowMs: number): TimeRange {
  const zone = zoneOf(parameters.timezone ?? DEFAULT_TIME_ZONE);
  const present = { nowMs, zone, nearest: 'past' } as const;
  const start = parameters.start === undefined ? undefined : parseDate('start', parameters.start, present);
  const end = parameters.end === undefined ? undefined : parseDate('end', parameters.end, present);
  if (start !== undefined) return datesRange(start, end ?? { type: 'instant', ms: nowMs }, zone);

  const interval = parameters.interval ?? DEFAULT_INTERVAL;
  return {
    fromMs: intervalStart(interval, nowMs, zone),
    toMs: interval === '24h' ? nowMs : zone.dayEnd(midnightBefore(zone.toLocal(nowMs))),
    zone: zone.name,
    origin: { type: 'interval', interval, nowMs },
  };
}
