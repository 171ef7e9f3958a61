import type { ParsedComponents } from 'chrono-node';
// The package itself loads all its languages, 0.2 s of the start of each process.
import { casual } from 'chrono-node/en';
import { DAY_MS, isInCalendar, midnightBefore, midnightOf, weekdayOf } from './calendar.js';
import { type LocalContext, nearestDay } from './calendar-phrases.js';
import type { DateContext, ParsedDate } from './parsed-date.js';

/** An unambiguous time: with minutes, or with am, pm or noon. The library would also accept `at 5`. */
const CLEAR_TIME = /\d:\d\d|\d ?[ap]\.?m\b|noon/;
/** A UTC offset, or an unambiguous zone abbreviation (`ist`, `bst` and `ast` each have several meanings). */
const CLEAR_ZONE = /(?:\b(?:utc|gmt|z|[ecmp][sd]t|ces?t|ees?t|wes?t)|[+-]\d{1,2}(?::?\d\d)?)(?: \([a-z ]+\))?$/;

/** Midnight of an absolute date (`5 january`); undefined if month or day are missing, or the weekday contradicts the date. */
function absoluteDay(components: ParsedComponents, context: LocalContext): number | undefined {
  const [year, month, day] = [components.get('year'), components.get('month'), components.get('day')];
  if (year === null || month === null || day === null) return undefined;
  if (!components.isCertain('month') || !components.isCertain('day')) return undefined;
  const midnight = components.isCertain('year')
    ? midnightOf(year, month, day)
    : nearestDay(month, day, context)?.firstMs;
  if (midnight === undefined || !components.isCertain('weekday')) return midnight;
  return ((components.get('weekday') ?? 0) + 6) % 7 === weekdayOf(midnight) ? midnight : undefined;
}

/** Midnight of a relative date (`2 days after tomorrow`), for which the library returns noon. */
function relativeDay(components: ParsedComponents): number | undefined {
  const midnight = midnightBefore(components.date().getTime());
  return isInCalendar(midnight) ? midnight : undefined;
}

function timeOfDay(components: ParsedComponents): number {
  const [hour, minute] = [components.get('hour') ?? 0, components.get('minute') ?? 0];
  const [second, millisecond] = [components.get('second') ?? 0, components.get('millisecond') ?? 0];
  return ((hour * 60 + minute) * 60 + second) * 1000 + millisecond;
}

/**
 * Parses a phrase with the library chrono-node, in the zone of the context. Undefined unless the library reads the whole phrase as
 * one unambiguous date.
 *
 * @param phrase in lower case, with single spaces
 */
export function parseWithChrono(phrase: string, { nowMs, zone, nearest }: DateContext): ParsedDate | undefined {
  const localNow = zone.toLocal(nowMs);
  // Without a reference in UTC the library would use the time zone of the machine. Noon, because no zone changes its clocks then.
  const instant = new Date(midnightBefore(localNow) + DAY_MS / 2);
  const results = casual.parse(phrase, { instant, timezone: 0 });
  const [result] = results;
  if (result === undefined || results.length > 1 || result.text !== phrase || result.end) return undefined;
  const { start } = result;
  const tags = result.tags();
  // `parseRelativeDate` parses hours relative to now; hours relative to a day, as in `2 hours before yesterday`, are ambiguous.
  if (tags.has('result/relativeDateAndTime')) return undefined;

  const midnight = tags.has('result/relativeDate')
    ? relativeDay(start)
    : absoluteDay(start, { nearest, nowMs: localNow });
  if (midnight === undefined) return undefined;
  if (!start.isCertain('hour')) return { type: 'days', firstMs: midnight, lastMs: midnight };
  if (!CLEAR_TIME.test(phrase)) return undefined;
  const wallMs = midnight + timeOfDay(start);
  if (!start.isCertain('timezoneOffset')) return { type: 'instant', ms: zone.toInstant(wallMs) };
  const offsetMinutes = start.get('timezoneOffset') ?? 0;
  return CLEAR_ZONE.test(phrase) ? { type: 'instant', ms: wallMs - offsetMinutes * 60_000 } : undefined;
}
