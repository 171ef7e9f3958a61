import { addUnits, DAY_MS, isInCalendar, midnightBefore } from './calendar.js';
import type { DateContext, ParsedDate } from './parsed-date.js';
import { COUNT, countOf } from './words.js';

/** A duration. Months and days are added to the local date, so that daylight saving keeps the time of day; `ms` is exact. */
interface Duration {
  readonly months: number;
  readonly days: number;
  readonly ms: number;
}

/** A duration from a text. */
interface ParsedDuration extends Duration {
  /** Whether the text names hours, minutes or seconds, zero included, or a part of a day. */
  readonly isExact: boolean;
}

const SECOND_MS = 1000;
const UNITS: Readonly<Record<string, Duration>> = {
  second: { months: 0, days: 0, ms: SECOND_MS },
  minute: { months: 0, days: 0, ms: 60 * SECOND_MS },
  hour: { months: 0, days: 0, ms: 3600 * SECOND_MS },
  day: { months: 0, days: 1, ms: 0 },
  week: { months: 0, days: 7, ms: 0 },
  month: { months: 1, days: 0, ms: 0 },
  quarter: { months: 3, days: 0, ms: 0 },
  year: { months: 12, days: 0, ms: 0 },
};
/** A count with its unit, and an optional separator: `2 hours and 30 minutes`, `2h30m`. */
const PART = new RegExp(
  `^(?:(?:about|around|roughly|approximately|just|~) ?){0,3}(?<count>${COUNT}) ?` +
    '(?<unit>second|sec|minute|min|hour|hr|day|week|wk|month|mon|mo|quarter|qtr|year|yr|[smhdwy])s?' +
    String.raw`(?: ?,? and ?| ?, ?| |(?=\d)|$)`,
);
const LONG_UNITS: Readonly<Record<string, string>> = {
  s: 'second',
  sec: 'second',
  m: 'minute',
  min: 'minute',
  h: 'hour',
  hr: 'hour',
  d: 'day',
  w: 'week',
  wk: 'week',
  mo: 'month',
  mon: 'month',
  qtr: 'quarter',
  y: 'year',
  yr: 'year',
};
/** Length of a month for fractions of months. */
const MONTH_DAYS = 30;
/** Tolerance for rounding errors in sums of fractions; of a day, this is less than a tenth of a millisecond. */
const ROUNDING = 1e-9;
const AGO = /^(?:(?<amount>.+) (?:ago|earlier|before(?: now)?)|(?:now ?)?- ?(?<signed>.+))$/;
const AHEAD =
  /^(?:(?:in|within|for|after|this)(?: |(?=\d))(?<amount>.+)|(?<later>.+) (?:from now|later|after(?: now)?|henceforth|forward|out)|(?:now ?)?\+ ?(?<signed>.+))$/;
const SPAN = /^(?:the )?(?<side>last|past|previous|next)(?: |(?=\d))(?<amount>.+)$/;
/** Units that need no count after `past`: `past week` is the last 7 days. */
const ONE_PAST = /^(?:second|sec|minute|min|hour|hr|day|week|month|quarter|year)$/;
/** Units that need no count after `last` and `next`. Longer ones mean calendar periods there: `last week` is Monday to Sunday. */
const ONE = /^(?:second|sec|minute|min|hour|hr|day)$/;

/** Converts fractions of months to days, and fractions of days to milliseconds. */
function inWholeUnits({ months, days, ms }: Duration): Duration {
  const wholeMonths = Math.floor(months + ROUNDING);
  const allDays = days + (months - wholeMonths) * MONTH_DAYS;
  const wholeDays = Math.floor(allDays + ROUNDING);
  return { months: wholeMonths, days: wholeDays, ms: Math.round(ms + (allDays - wholeDays) * DAY_MS) };
}

/** Parses `2 weeks and 3 days`; undefined unless the whole text is a duration. */
function parseDuration(text: string): ParsedDuration | undefined {
  if (text === '') return undefined;
  let duration: Duration = { months: 0, days: 0, ms: 0 };
  let hasTime = false;
  for (let rest = text; rest !== ''; ) {
    const part = PART.exec(rest);
    if (part === null) return undefined;
    const { count = '', unit: name = '' } = part.groups ?? {};
    const unit = UNITS[LONG_UNITS[name] ?? name];
    if (unit === undefined) return undefined;
    const times = countOf(count);
    hasTime ||= unit.ms > 0;
    duration = {
      months: duration.months + times * unit.months,
      days: duration.days + times * unit.days,
      ms: duration.ms + times * unit.ms,
    };
    rest = rest.slice(part[0].length);
  }
  const whole = inWholeUnits(duration);
  return { months: whole.months, days: whole.days, ms: whole.ms, isExact: hasTime || whole.ms !== 0 };
}

const SAME_DAY = /^(?:(?:the )?(?:this|same) day|today) (?<side>last|previous|next) (?<unit>week|month|quarter|year)$/;
const ADJACENT_UNIT = /^(?<side>last|previous|next) (?<unit>week|month|quarter|year)$/;

/** The day that is one unit before or after today, from a match with the groups `side` and `unit`. */
function dayOneUnitAway(found: RegExpExecArray | null, context: DateContext): ParsedDate | undefined {
  const { side, unit } = found?.groups ?? {};
  return unit === undefined ? undefined : relativeDate(`1 ${unit}`, side === 'next' ? 1 : -1, context);
}

/** Parses `last month` to the same day a month ago. Only for phrases with a time of day: `last month at 5pm`. */
export function parseDayInAdjacentUnit(phrase: string, context: DateContext): ParsedDate | undefined {
  return dayOneUnitAway(ADJACENT_UNIT.exec(phrase), context);
}

const THIS = /^(?:this|current) (?<unit>hour|minute|second)$/;

/** Parses `this hour`, `this minute` and `this second`. */
export function parseCurrentUnit(phrase: string, { nowMs, zone }: DateContext): ParsedDate | undefined {
  const { unit } = THIS.exec(phrase)?.groups ?? {};
  if (unit === undefined) return undefined;
  const unitMs = UNITS[unit]?.ms ?? 0;
  const fromMs = nowMs - (zone.toLocal(nowMs) % unitMs);
  return { type: 'span', fromMs, toMs: fromMs + unitMs - 1 };
}

/** Adds a duration to the current time, or subtracts it. @returns the local time and the instant; undefined outside of 1970 to 9999 */
function addToNow(duration: Duration, direction: 1 | -1, { nowMs, zone }: DateContext) {
  const now = zone.toLocal(nowMs);
  const localMs = addUnits(addUnits(now, 'month', direction * duration.months), 'day', direction * duration.days);
  if (!isInCalendar(localMs)) return undefined;
  const ms = (localMs === now ? nowMs : zone.toInstant(localMs)) + direction * duration.ms;
  return isInCalendar(ms) || isInCalendar(localMs + direction * duration.ms) ? { localMs, ms } : undefined;
}

/** The date that is a duration away from now: a day if the duration has only whole days and longer units, otherwise an instant. */
function relativeDate(text: string, direction: 1 | -1, context: DateContext): ParsedDate | undefined {
  const duration = parseDuration(text);
  const target = duration && addToNow(duration, direction, context);
  if (target === undefined) return undefined;
  if (duration?.isExact) return { type: 'instant', ms: target.ms };
  const midnight = midnightBefore(target.localMs);
  return { type: 'days', firstMs: midnight, lastMs: midnight, atMs: target.localMs };
}

/** Parses spans that end or begin now, such as `last 7 days` and `next 2 weeks`. */
function parseSpan(phrase: string, context: DateContext): ParsedDate | undefined {
  const { side, amount: text = '' } = SPAN.exec(phrase)?.groups ?? {};
  const amount = parseDuration((side === 'past' ? ONE_PAST : ONE).test(text) ? `1 ${text}` : text);
  const target = amount && addToNow(amount, side === 'next' ? 1 : -1, context);
  if (target === undefined) return undefined;
  const { nowMs } = context;
  return side === 'next'
    ? { type: 'span', fromMs: nowMs, toMs: target.ms }
    : { type: 'span', fromMs: target.ms, toMs: nowMs };
}

/**
 * Parses dates relative to the current time (`7 days ago`, `in 2 hours`, `a week and 3 days from now`) and spans that end or begin
 * now (`last 7 days`, `past hour`, `next 2 weeks`). Undefined for other phrases.
 *
 * @param phrase in lower case, with single spaces
 */
export function parseRelativeDate(phrase: string, context: DateContext): ParsedDate | undefined {
  const named = parseCurrentUnit(phrase, context) ?? dayOneUnitAway(SAME_DAY.exec(phrase), context);
  if (named !== undefined) return named;
  const past = AGO.exec(phrase)?.groups ?? {};
  const ago = past.amount ?? past.signed;
  if (ago !== undefined) return relativeDate(ago, -1, context);
  const { amount, later, signed } = AHEAD.exec(phrase)?.groups ?? {};
  const ahead = amount ?? later ?? signed;
  return ahead === undefined ? parseSpan(phrase, context) : relativeDate(ahead, 1, context);
}
