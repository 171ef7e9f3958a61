import { readAmountDate, readDayOfUnit, readThis } from './amounts.js';
import { isInCalendar } from './calendar.js';
import { readChronoDate } from './chrono-date.js';
import { splitTime } from './clock-times.js';
import { firstInstant, type GivenDate, lastInstant, type Present } from './given-date.js';
import { readPeriod, readPeriodOf } from './periods.js';

const EDGE = /^(?:the )?(?<edge>start|beginning|end) of (?:the )?(?<period>.+)$/;
/**
 * What the library would give one of two meanings: dates in digits, midnights, which belong to two days, parts of months and years,
 * and last month, which it takes for the day a month ago.
 */
const NOT_FOR_LIBRARY =
  /^\d{4}[-/.]?\d|midnight|morning|noon|evening|night|half|\d\.\d|\b(?:last|previous|past|this|current|next) (?:week|month|quarter|year)/;

/** `start of month` is its first moment and `end of month` its last, wherever they stand. */
function readEdge(phrase: string, present: Present): GivenDate | undefined {
  const { edge, period = '' } = EDGE.exec(phrase)?.groups ?? {};
  if (edge === undefined) return undefined;
  const days = readPeriodOf(period, { nearest: present.nearest, nowMs: present.zone.toLocal(present.nowMs) });
  const whole =
    days === undefined ? readThis(`this ${period.replace(/^this /, '')}`, present) : { type: 'days' as const, ...days };
  if (whole === undefined) return undefined;
  return { type: 'instant', ms: edge === 'end' ? lastInstant(whole, present.zone) : firstInstant(whole, present.zone) };
}

function readDays(phrase: string, present: Present): GivenDate | undefined {
  const days = readPeriod(phrase, { nearest: present.nearest, nowMs: present.zone.toLocal(present.nowMs) });
  return days === undefined ? readAmountDate(phrase, present) : { type: 'days', ...days };
}

function readTimed(phrase: string, present: Present): GivenDate | undefined {
  const timed = splitTime(phrase);
  if (timed === undefined) return undefined;
  const { day, timeMs, offsetMinutes } = timed;
  const date = readDayOfUnit(day, present) ?? readDays(day, present);
  if (date?.type !== 'days' || date.firstMs !== date.lastMs) return undefined;
  const wallMs = date.firstMs + timeMs;
  const isOwnClock = offsetMinutes === undefined;
  return { type: 'instant', ms: isOwnClock ? present.zone.toInstant(wallMs) : wallMs - offsetMinutes * 60_000 };
}

function readPhrase(phrase: string, present: Present): GivenDate | undefined {
  if (phrase === 'now') return { type: 'instant', ms: present.nowMs };
  const read = readEdge(phrase, present) ?? readDays(phrase, present) ?? readTimed(phrase, present);
  return read ?? (NOT_FOR_LIBRARY.test(phrase) ? undefined : readChronoDate(phrase, present));
}

/**
 * Reads a date or a period in English words, or a week, month, quarter or year of ISO 8601, on the clocks of the zone. Undefined for
 * whatever is not understood as a whole, has more than one meaning or lies before 1970 or after 9999. `docs/reference/dates.md`
 * lists what is read.
 */
export function parseNaturalDate(text: string, present: Present): GivenDate | undefined {
  const date = readPhrase(text.trim().replace(/\s+/g, ' ').toLowerCase().replace(/^on /, ''), present);
  if (date === undefined) return undefined;
  return isInCalendar(firstInstant(date, present.zone)) ? date : undefined;
}
