import { fieldError } from '@waymark/contract';
import { DAY_MS } from './calendar.js';
import { parseDate } from './date-text.js';
import { firstInstant, type GivenDate, lastInstant, type Present } from './given-date.js';
import { zoneOf } from './zone.js';

const NOON_MS = DAY_MS / 2;

/** A day is its noon, or the present time of day when it was counted from the present; a longer period is its first moment. */
function instantOf(date: GivenDate, { zone, nowMs }: Present): number | undefined {
  if (date.type === 'days' && date.firstMs === date.lastMs) return zone.toInstant(date.atMs ?? date.firstMs + NOON_MS);
  const fromMs = firstInstant(date, zone);
  const isUnderWay = date.type !== 'instant' && fromMs <= nowMs && nowMs <= lastInstant(date, zone);
  return isUnderWay ? undefined : fromMs;
}

/**
 * The instant that a date of a request body means, in UTC: see `docs/reference/dates.md`.
 *
 * @returns epoch milliseconds
 * @throws ApiError 422 for what is no date, and for a period that is under way, such as `this month`
 */
export function parseInstant(parameter: string, text: string, nowMs: number): number {
  const present: Present = { nowMs, zone: zoneOf('UTC'), nearest: 'future' };
  const instant = instantOf(parseDate(parameter, text, present), present);
  if (instant !== undefined) return instant;
  throw fieldError(
    'invalid_format',
    parameter,
    'is a period that is under way: write a day, or which end is meant, as in end of this month',
  );
}
