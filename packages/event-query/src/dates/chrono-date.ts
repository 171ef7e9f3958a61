import { en, type ParsedComponents } from 'chrono-node';
import { DAY_MS, isInCalendar, midnightBefore, midnightOf, weekdayOf } from './calendar.js';
import type { GivenDate, Present } from './given-date.js';
import { nearestDay, type Place } from './periods.js';

/** A clock with minutes, or one that says which half of the day it is in; the library would read `at 5` too. */
const CLEAR_TIME = /\d:\d\d|\d ?[ap]\.?m\b|noon/;
/** An offset, or the name of a zone that means the same one wherever it is written (not `ist`, `bst`, `ast`). */
const CLEAR_ZONE = /(?:\b(?:utc|gmt|z|[ecmp][sd]t|ces?t|ees?t|wes?t)|[+-]\d{1,2}(?::?\d\d)?)(?: \([a-z ]+\))?$/;

/** Midnight of the day that the components name; undefined for none, and for a day that its weekday contradicts. */
function namedDay(components: ParsedComponents, place: Place): number | undefined {
  const [year, month, day] = [components.get('year'), components.get('month'), components.get('day')];
  if (year === null || month === null || day === null) return undefined;
  if (!components.isCertain('month') || !components.isCertain('day')) return undefined;
  const midnight = components.isCertain('year') ? midnightOf(year, month, day) : nearestDay(month, day, place)?.firstMs;
  if (midnight === undefined || !components.isCertain('weekday')) return midnight;
  return ((components.get('weekday') ?? 0) + 6) % 7 === weekdayOf(midnight) ? midnight : undefined;
}

/** Midnight of a day counted from another, which the library has at noon. */
function countedDay(components: ParsedComponents): number | undefined {
  const midnight = midnightBefore(components.date().getTime());
  return isInCalendar(midnight) ? midnight : undefined;
}

function timeOfDay(components: ParsedComponents): number {
  const [hour, minute] = [components.get('hour') ?? 0, components.get('minute') ?? 0];
  const [second, millisecond] = [components.get('second') ?? 0, components.get('millisecond') ?? 0];
  return ((hour * 60 + minute) * 60 + second) * 1000 + millisecond;
}

/**
 * What the library chrono-node makes of a phrase, on the clocks of the zone; undefined unless it takes all of it for one date that
 * has one meaning.
 *
 * @param phrase in lower case, with single spaces
 */
export function readChronoDate(phrase: string, { nowMs, zone, nearest }: Present): GivenDate | undefined {
  const localNow = zone.toLocal(nowMs);
  // Given as if in UTC, for by itself the library reads the clocks of the machine; at noon, when no such clock is changed.
  const instant = new Date(midnightBefore(localNow) + DAY_MS / 2);
  const results = en.casual.parse(phrase, { instant, timezone: 0 });
  const [result] = results;
  if (result === undefined || results.length > 1 || result.text !== phrase || result.end) return undefined;
  const { start } = result;
  const tags = result.tags();
  // Hours from now are counted by `readAmountDate`; hours from a day, as in `2 hours before yesterday`, have more than one meaning.
  if (tags.has('result/relativeDateAndTime')) return undefined;

  const midnight = tags.has('result/relativeDate') ? countedDay(start) : namedDay(start, { nearest, nowMs: localNow });
  if (midnight === undefined) return undefined;
  if (!start.isCertain('hour')) return { type: 'days', firstMs: midnight, lastMs: midnight };
  if (!CLEAR_TIME.test(phrase)) return undefined;
  const wallMs = midnight + timeOfDay(start);
  if (!start.isCertain('timezoneOffset')) return { type: 'instant', ms: zone.toInstant(wallMs) };
  const offsetMinutes = start.get('timezoneOffset') ?? 0;
  return CLEAR_ZONE.test(phrase) ? { type: 'instant', ms: wallMs - offsetMinutes * 60_000 } : undefined;
}
