import { DATE_CHARS_MAX, fieldError } from '@waymark/contract';
import { midnightOf } from './calendar.js';
import { zoneOffset } from './clock-times.js';
import { parseNaturalDate } from './natural-date.js';
import type { DateContext, ParsedDate } from './parsed-date.js';

const DATE = /^(\d{4})-(\d{1,2})-(\d{1,2})/;
const TIME = /^[T ](\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?/i;
const OFFSET = /^ ?(?:Z|UTC|GMT|(?:UTC|GMT)?([+-])(\d{2}|\d(?=:|$))(?::?(\d{2}))?)$/i;

function timeOf(match: RegExpExecArray): number | undefined {
  const [, hour = '', minute = '', second = '0', fraction = ''] = match;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  const seconds = Number(hour) * 3600 + Number(minute) * 60 + Number(second);
  return seconds * 1000 + Number(fraction.slice(0, 3).padEnd(3, '0'));
}

/** Parses a UTC offset, or the name of a zone that means one, to milliseconds; an empty text means UTC. */
function offsetOf(text: string): number | undefined {
  if (text === '') return 0;
  const match = OFFSET.exec(text);
  if (match === null) {
    const minutes = zoneOffset(text.trim().toLowerCase());
    return minutes === undefined ? undefined : minutes * 60_000;
  }
  const [, sign, hours = '0', minutes = '0'] = match;
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined;
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
}

function parseIso(text: string): ParsedDate | undefined {
  const date = DATE.exec(text);
  if (date === null) return undefined;
  const midnightMs = midnightOf(Number(date[1]), Number(date[2]), Number(date[3]));
  if (midnightMs === undefined) return undefined;
  const rest = text.slice(date[0].length);
  if (rest === '') return { type: 'days', firstMs: midnightMs, lastMs: midnightMs };
  const time = TIME.exec(rest);
  if (time === null) return undefined;
  const timeMs = timeOf(time);
  const offsetMs = offsetOf(rest.slice(time[0].length));
  if (timeMs === undefined || offsetMs === undefined) return undefined;
  return { type: 'instant', ms: midnightMs + timeMs - offsetMs };
}

const UNSIGNED_OFFSET = /^ \d{2}:?\d{2}$/;

/** Whether the text is a time whose offset has a blank in place of its sign, as a `+` in a query arrives unless it is encoded. */
function lacksPlus(text: string): boolean {
  const date = DATE.exec(text)?.[0] ?? '';
  const time = TIME.exec(text.slice(date.length))?.[0] ?? '';
  return date !== '' && time !== '' && UNSIGNED_OFFSET.test(text.slice(date.length + time.length));
}

/** `03/04/2026`, `3.4.2026`, `03-04-26`: ambiguous order of day and month. Refused even for days above 12, or only some days would be accepted. */
const AMBIGUOUS_DATE = /(?<![\d/.:-])\d{1,2}(?:\/\d{1,2}(?!\d)|([.-])\d{1,2}\1\d{2})/;

/**
 * Parses the date of a parameter or field: a day, a time or a period, in ISO 8601 or in English words. `docs/reference/dates.md`
 * lists the accepted forms.
 *
 * @throws ApiError 422 for anything else
 */
export function parseDate(parameter: string, text: string, context: DateContext): ParsedDate {
  if (text.length > DATE_CHARS_MAX)
    throw fieldError('too_big', parameter, `must have at most ${DATE_CHARS_MAX} characters`);
  if (AMBIGUOUS_DATE.test(text)) {
    throw fieldError(
      'invalid_format',
      parameter,
      'is ambiguous: write the year first, as in 2026-03-04, or the name of the month, as in 4 mar 2026',
    );
  }
  const phrase = text.trim().replace(/\s+/g, ' ');
  const date = parseIso(phrase) ?? parseNaturalDate(phrase, context);
  if (date !== undefined) return date;
  const rule =
    'must be a date such as 2026-03-04, 2026-03-04T12:30:00Z, yesterday, 7 days ago, last month, jan 5 or Q1 2026';
  const hint = lacksPlus(phrase) ? '; the + of an offset is written %2B in a query' : '';
  throw fieldError('invalid_format', parameter, rule + hint);
}
