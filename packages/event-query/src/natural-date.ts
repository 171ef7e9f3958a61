import { en } from 'chrono-node';
import { type GivenDate, midnightOf } from './given-date.js';

const CHARS_MAX = 100;
const YEAR_MIN = 1970;
const YEAR_MAX = 9999;

const COUNT = String.raw`(?:\d{1,4}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)`;
const WEEKDAY = '(?:mon|tue|wed|thu|fri|sat|sun|monday|tuesday|wednesday|thursday|friday|saturday|sunday)';
const MONTH =
  '(?:jan|feb|mar|apr|may|jun|jul|aug|sep|sept|oct|nov|dec|january|february|march|april|june|july|august|september|october|november|december)';
const DAY_OF_MONTH = String.raw`\d{1,2}(?:st|nd|rd|th)?`;
const TIME = String.raw`(?: at)? (?:(?:0?[1-9]|1[0-2])(?::[0-5]\d)? ?[ap]m|(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d)?|noon)`;

/**
 * The phrases whose meaning is beyond doubt. `last month` names no day, `march 4` no year, `monday` no week, and 03/04/2026 is
 * another day in another country: none of them is here.
 */
const PHRASES: readonly RegExp[] = [
  'now',
  `(?:today|yesterday|tomorrow|last ${WEEKDAY})(?:${TIME})?`,
  `${COUNT} (?:second|minute|hour|day|week|month|year)s? (?:ago|from now)`,
  `in ${COUNT} (?:second|minute|hour|day|week|month|year)s?`,
  `${MONTH} ${DAY_OF_MONTH},? \\d{4}(?:${TIME})?`,
  `${DAY_OF_MONTH} (?:of )?${MONTH},? \\d{4}(?:${TIME})?`,
].map((phrase) => new RegExp(`^${phrase}$`));

/** What the library makes of a phrase; undefined unless it takes all of it for one date. */
function readPhrase(phrase: string, nowMs: number): GivenDate | undefined {
  const results = en.casual.parse(phrase, { instant: new Date(nowMs), timezone: 0 });
  const [result] = results;
  if (result === undefined || results.length > 1 || result.text !== phrase || result.end) return undefined;
  const { start } = result;
  const [year, month, day] = [start.get('year'), start.get('month'), start.get('day')];
  if (year === null || month === null || day === null || year < YEAR_MIN || year > YEAR_MAX) return undefined;
  const midnightMs = midnightOf(year, month, day);
  if (midnightMs === undefined) return undefined;
  return start.isCertain('hour') ? { type: 'instant', ms: start.date().getTime() } : { type: 'day', midnightMs };
}

/** The day of the month that `day` is in, or the last day of a month that is shorter. */
function sameDayIn(monthMs: number, day: Date): number {
  const month = new Date(monthMs);
  const lastDay = new Date(Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1, 0)).getUTCDate();
  return month.setUTCDate(Math.min(day.getUTCDate(), lastDay));
}

/** The library would take 31 March for the day a month after 3 March: the month is found from its first day. */
function readMonthsAway(phrase: string, nowMs: number): GivenDate | undefined {
  const today = new Date(nowMs);
  const date = readPhrase(phrase, Date.UTC(today.getUTCFullYear(), today.getUTCMonth(), 1));
  return date?.type === 'day' ? { type: 'day', midnightMs: sameDayIn(date.midnightMs, today) } : undefined;
}

/**
 * Reads a date in English words, in UTC (spec 1.8): days, weeks, months and years are whole days. Undefined for whatever is not
 * fully understood.
 *
 * @param nowMs what words such as `yesterday` are relative to, epoch milliseconds
 */
export function parseNaturalDate(text: string, nowMs: number): GivenDate | undefined {
  if (text.length > CHARS_MAX) return undefined;
  const phrase = text.trim().replace(/\s+/g, ' ').toLowerCase();
  if (!PHRASES.some((pattern) => pattern.test(phrase))) return undefined;
  const read = / (?:month|year)s?(?: ago| from now)?$/.test(phrase) ? readMonthsAway : readPhrase;
  return read(phrase, nowMs);
}
