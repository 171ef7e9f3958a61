import { fieldError } from '@waymark/contract';
import { DAY_MS } from './calendar.js';
import { parseDate } from './date-text.js';
import { type DateContext, firstInstant, lastInstant, type ParsedDate } from './parsed-date.js';
import { zoneOf } from './zone.js';

const NOON_MS = DAY_MS / 2;

/**
 * A day means its noon, or the current time of day if the date was relative (`in 3 days`). A longer period means its first moment;
 * undefined if the period has begun and not ended.
 */
function instantOf(date: ParsedDate, { zone, nowMs }: DateContext): number | undefined {
  if (date.type === 'days' && date.firstMs === date.lastMs) return zone.toInstant(date.atMs ?? date.firstMs + NOON_MS);
  const fromMs = firstInstant(date, zone);
  const isUnderWay = date.type !== 'instant' && fromMs <= nowMs && nowMs <= lastInstant(date, zone);
  return isUnderWay ? undefined : fromMs;
}

/**
 * Parses a date in a request body to an instant, in UTC; `docs/reference/dates.md` describes the rules.
 *
 * @returns epoch milliseconds
 * @throws ApiError 422 for an invalid date, and for a period that has begun and not ended, such as `this month`
 */
export function parseInstant(parameter: string, text: string, nowMs: number): number {
  const context: DateContext = { nowMs, zone: zoneOf('UTC'), nearest: 'future' };
  const instant = instantOf(parseDate(parameter, text, context), context);
  if (instant !== undefined) return instant;
  throw fieldError(
    'invalid_format',
    parameter,
    'is a period that is under way: write a day, or which end is meant, as in end of this month',
  );
}
