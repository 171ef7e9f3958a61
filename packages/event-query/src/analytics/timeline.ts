import { fieldError } from '@waymark/contract';
import { DAY_MS, midnightBefore } from '../dates/calendar.js';
import type { TimeRange } from '../dates/time-range.js';
import { type Zone, zoneOf } from '../dates/zone.js';

/** The buckets of a time series: every hour, day or month of the time zone that overlaps the range. */
export interface Timeline {
  readonly zone: string;
  /** First instant of each bucket, ascending; a bucket ends where the next begins. Never empty. */
  readonly starts: readonly number[];
  /** Start of the range in epoch milliseconds; undefined = no lower bound. */
  readonly fromMs: number | undefined;
}

type Unit = 'hour' | 'day' | 'month';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const BUCKETS_MAX = 5000;
/** Longest ranges, in days between the first and the last day, with one bucket per hour and with one per day. */
const DAYS_BY_HOUR_MAX = 2;
const DAYS_BY_DAY_MAX = 180;

/** The unit of buckets for a range without a named interval, by its length. */
function unitBetween(fromMs: number, toMs: number, zone: Zone): Unit {
  const days = (midnightBefore(zone.toLocal(toMs)) - midnightBefore(zone.toLocal(fromMs))) / DAY_MS;
  if (days <= DAYS_BY_HOUR_MAX) return 'hour';
  return days > DAYS_BY_DAY_MAX ? 'month' : 'day';
}

function unitOf({ origin, toMs }: TimeRange, fromMs: number, zone: Zone): Unit {
  const interval = origin.type === 'interval' ? origin.interval : 'all';
  switch (interval) {
    case '24h':
      return 'hour';
    case '7d':
    case '30d':
    case '90d':
    case 'mtd':
    case 'qtd':
      return 'day';
    case '1y':
    case 'ytd':
      return 'month';
    case 'all':
      return unitBetween(fromMs, toMs, zone);
  }
}

/** Starts of hours. A clock change by part of an hour (e.g. 30 minutes) starts a new bucket, so no time is counted twice. */
function* hourStarts(fromMs: number, zone: Zone): Generator<number> {
  const offsetAt = (instant: number) => zone.toLocal(instant) - instant;
  /** Milliseconds since the last full hour of local time. */
  const past = (instant: number) => ((zone.toLocal(instant) % HOUR_MS) + HOUR_MS) % HOUR_MS;
  const full = fromMs - past(fromMs);
  let start = offsetAt(full) === offsetAt(fromMs) ? full : zone.changeBetween(full, fromMs);
  for (;;) {
    yield start;
    const next = start + HOUR_MS - past(start);
    start = offsetAt(next - 1) === offsetAt(start) ? next : zone.changeBetween(start, next - 1);
  }
}

function* dayStarts(fromMs: number, zone: Zone): Generator<number> {
  for (let midnight = midnightBefore(zone.toLocal(fromMs)); ; midnight += DAY_MS) {
    // Skip a day that the zone left out, such as 30 December 2011 in Samoa.
    if (zone.dayEnd(midnight) >= zone.dayStart(midnight)) yield zone.dayStart(midnight);
  }
}

function* monthStarts(fromMs: number, zone: Zone): Generator<number> {
  const first = new Date(midnightBefore(zone.toLocal(fromMs)));
  first.setUTCDate(1);
  for (;;) {
    yield zone.dayStart(first.getTime());
    first.setUTCMonth(first.getUTCMonth() + 1);
  }
}

const STARTS = { hour: hourStarts, day: dayStarts, month: monthStarts } as const;

/**
 * Computes the buckets of a time series as docs/reference/analytics.md describes them. `interval=all` begins with the day on which
 * the events of the workspace begin.
 *
 * @param sinceMs when the events of the workspace begin
 * @throws ApiError 422 for more than 5000 buckets
 */
export function timelineOf(range: TimeRange, sinceMs: number): Timeline {
  const zone = zoneOf(range.zone);
  const { origin } = range;
  const originMs = Math.min(sinceMs, origin.type === 'interval' ? origin.nowMs : sinceMs);
  const fromMs = range.fromMs ?? zone.dayStart(midnightBefore(zone.toLocal(originMs)));
  const starts: number[] = [];
  for (const start of STARTS[unitOf(range, fromMs, zone)](fromMs, zone)) {
    if (start > range.toMs && starts.length > 0) break;
    if (starts.length === BUCKETS_MAX) {
      throw fieldError('too_big', 'start', `must lie at most ${BUCKETS_MAX} months before the end of the time series`);
    }
    starts.push(start);
  }
  return { zone: range.zone, starts, fromMs };
}

/** Formats an instant in a time zone: `2026-03-04T00:00:00.000+0100`. */
export function startText(instantMs: number, zoneName: string): string {
  const localMs = zoneOf(zoneName).toLocal(instantMs);
  const offset = Math.trunc((localMs - instantMs) / MINUTE_MS);
  const hours = String(Math.trunc(Math.abs(offset) / 60)).padStart(2, '0');
  const minutes = String(Math.abs(offset) % 60).padStart(2, '0');
  return `${new Date(localMs).toISOString().slice(0, 19)}.000${offset < 0 ? '-' : '+'}${hours}${minutes}`;
}
