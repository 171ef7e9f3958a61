import { parseDate } from './date-text.js';
import { parseDelay } from './delay-text.js';
import { DAY_MS } from './zone.js';

/**
 * The instant that a date of a request body means, in UTC (spec 1.8): ISO 8601, or words such as `tomorrow at 5 pm` or
 * `in 7 days`. A day without a time is its noon.
 *
 * @returns epoch milliseconds
 * @throws ApiError 422 for anything else
 */
export function parseInstant(parameter: string, text: string, nowMs: number): number {
  const delayedMs = parseDelay(text, nowMs);
  if (delayedMs !== undefined) return delayedMs;
  const date = parseDate(parameter, text, nowMs);
  return date.type === 'day' ? date.midnightMs + DAY_MS / 2 : date.ms;
}
