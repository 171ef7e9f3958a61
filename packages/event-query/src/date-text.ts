import { fault } from './fault.js';
import { type GivenDate, midnightOf } from './given-date.js';
import { parseNaturalDate } from './natural-date.js';

const DATE = /^(\d{4})-(\d{2})-(\d{2})/;
const TIME = /^[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?/i;
const OFFSET = /^(?:Z|([+-])(\d{2}):?(\d{2})?)$/i;

function timeOf(match: RegExpExecArray): number | undefined {
  const [, hour = '', minute = '', second = '0', fraction = ''] = match;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  const seconds = Number(hour) * 3600 + Number(minute) * 60 + Number(second);
  return seconds * 1000 + Number(fraction.slice(0, 3).padEnd(3, '0'));
}

/** Milliseconds that a local time is ahead of UTC; no offset means UTC (spec 1.8). */
function offsetOf(text: string): number | undefined {
  if (text === '') return 0;
  const match = OFFSET.exec(text);
  if (match === null) return undefined;
  const [, sign, hours = '0', minutes = '0'] = match;
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined;
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
}

function parseIso(text: string): GivenDate | undefined {
  const date = DATE.exec(text);
  if (date === null) return undefined;
  const midnightMs = midnightOf(Number(date[1]), Number(date[2]), Number(date[3]));
  if (midnightMs === undefined) return undefined;
  const rest = text.slice(date[0].length);
  if (rest === '') return { type: 'day', midnightMs };
  const time = TIME.exec(rest);
  if (time === null) return undefined;
  const timeMs = timeOf(time);
  const offsetMs = offsetOf(rest.slice(time[0].length));
  if (timeMs === undefined || offsetMs === undefined) return undefined;
  return { type: 'instant', ms: midnightMs + timeMs - offsetMs };
}

/**
 * Reads an ISO 8601 date (`2026-03-04`) or date and time (`2026-03-04T12:30:45.678+01:00`; without an offset it is UTC), or a date
 * in English words (`7 days ago`), in UTC as well.
 *
 * @throws ApiError 422 for anything else
 */
export function parseDate(parameter: string, text: string, nowMs: number): GivenDate {
  const date = parseIso(text.trim()) ?? parseNaturalDate(text, nowMs);
  if (date !== undefined) return date;
  throw fault(
    'invalid_format',
    parameter,
    'must be an ISO 8601 date such as 2026-03-04 or 2026-03-04T12:30:00Z, or words such as yesterday, 7 days ago or last monday',
  );
}
