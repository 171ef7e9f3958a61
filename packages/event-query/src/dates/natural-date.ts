import { isInCalendar } from './calendar.js';
import { parsePeriod, parsePeriodOrUnit } from './calendar-phrases.js';
import { parseWithChrono } from './chrono-date.js';
import { splitTime } from './clock-times.js';
import { type DateContext, firstInstant, lastInstant, type ParsedDate } from './parsed-date.js';
import { parseCurrentUnit, parseDayInAdjacentUnit, parseRelativeDate } from './relative-dates.js';

/** The name of the zone that JavaScript writes behind an offset, in the language of its system: `GMT+0900 (Japan Standard Time)`. */
const ZONE_NAME = /(?<=gmt[+-]\d{4}) \([^()]+\)$/;
const EDGE = /^(?:the )?(?<edge>start|beginning|end) of (?:the )?(?<period>.+)$/;
/**
 * Phrases for which the library would pick one of several meanings: dates in digits, midnight (start or end of a day), fractions of
 * months and years, and `last month`, which it reads as the day a month ago.
 */
const AMBIGUOUS_FOR_LIBRARY =
  /^\d{4}[-/.]?\d|midnight|morning|noon|evening|night|half|\d\.\d|\b(?:last|previous|past|this|current|next) (?:week|month|quarter|year)/;

/** Parses `start of …` to the first moment of a period and `end of …` to its last, for range starts and range ends alike. */
function parsePeriodEdge(phrase: string, context: DateContext): ParsedDate | undefined {
  const { edge, period = '' } = EDGE.exec(phrase)?.groups ?? {};
  if (edge === undefined) return undefined;
  const days = parsePeriodOrUnit(period, { nearest: context.nearest, nowMs: context.zone.toLocal(context.nowMs) });
  const whole =
    days === undefined
      ? parseCurrentUnit(`this ${period.replace(/^this /, '')}`, context)
      : { type: 'days' as const, ...days };
  if (whole === undefined) return undefined;
  return { type: 'instant', ms: edge === 'end' ? lastInstant(whole, context.zone) : firstInstant(whole, context.zone) };
}

/** Parses a period or a relative date. */
function parseDays(phrase: string, context: DateContext): ParsedDate | undefined {
  const days = parsePeriod(phrase, { nearest: context.nearest, nowMs: context.zone.toLocal(context.nowMs) });
  return days === undefined ? parseRelativeDate(phrase, context) : { type: 'days', ...days };
}

/** Parses a single day with a time of day. */
function parseTimed(phrase: string, context: DateContext): ParsedDate | undefined {
  const timed = splitTime(phrase);
  if (timed === undefined) return undefined;
  const { day, timeMs, offsetMinutes } = timed;
  const date = parseDayInAdjacentUnit(day, context) ?? parseDays(day, context);
  if (date?.type !== 'days' || date.firstMs !== date.lastMs) return undefined;
  const wallMs = date.firstMs + timeMs;
  const usesContextZone = offsetMinutes === undefined;
  return { type: 'instant', ms: usesContextZone ? context.zone.toInstant(wallMs) : wallMs - offsetMinutes * 60_000 };
}

/** Tries the forms in order, the library last. */
function parsePhrase(phrase: string, context: DateContext): ParsedDate | undefined {
  if (phrase === 'now') return { type: 'instant', ms: context.nowMs };
  const read = parsePeriodEdge(phrase, context) ?? parseDays(phrase, context) ?? parseTimed(phrase, context);
  return read ?? (AMBIGUOUS_FOR_LIBRARY.test(phrase) ? undefined : parseWithChrono(phrase, context));
}

/**
 * Parses a date or a period in English words, or a week, month, quarter or year of ISO 8601, in the zone of the context. Undefined
 * if any part of the text cannot be parsed, if it is ambiguous, or if it lies before 1970 or after 9999. `docs/reference/dates.md`
 * lists the accepted forms.
 */
export function parseNaturalDate(text: string, context: DateContext): ParsedDate | undefined {
  const phrase = text.trim().replace(/\s+/g, ' ').toLowerCase().replace(/^on /, '').replace(ZONE_NAME, '');
  const date = parsePhrase(phrase, context);
  if (date === undefined) return undefined;
  const { zone } = context;
  const firstMs = firstInstant(date, zone);
  // East of UTC, the first hours of 1970 are in 1969.
  return isInCalendar(firstMs) || isInCalendar(zone.toLocal(firstMs)) ? date : undefined;
}
