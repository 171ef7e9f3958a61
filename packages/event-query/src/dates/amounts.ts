import { addUnits, DAY_MS, isInCalendar, midnightBefore } from './calendar.js';
import type { GivenDate, Present } from './given-date.js';
import { COUNT, countOf } from './words.js';

/** A distance in time: parts of the calendar are counted on the clocks of the zone, parts of a day are exact. */
interface Amount {
  readonly months: number;
  readonly days: number;
  readonly ms: number;
}

const SECOND_MS = 1000;
const UNITS: Readonly<Record<string, Amount>> = {
  second: { months: 0, days: 0, ms: SECOND_MS },
  minute: { months: 0, days: 0, ms: 60 * SECOND_MS },
  hour: { months: 0, days: 0, ms: 3600 * SECOND_MS },
  day: { months: 0, days: 1, ms: 0 },
  week: { months: 0, days: 7, ms: 0 },
  month: { months: 1, days: 0, ms: 0 },
  quarter: { months: 3, days: 0, ms: 0 },
  year: { months: 12, days: 0, ms: 0 },
};
/** One unit and how many of it; `2h30m` needs nothing between two of them. */
const PART = new RegExp(
  `^(?:(?:about|around|roughly|approximately|just|~) ?){0,3}(?<count>${COUNT}) ?` +
    '(?<unit>second|sec|minute|min|hour|hr|day|week|wk|month|mon|mo|quarter|qtr|year|yr|[smhdwy])s?' +
    String.raw`(?: ?,? and ?| ?, ?| |(?=\d)|$)`,
);
const LONG_UNITS: Readonly<Record<string, string>> = {
  ...{ s: 'second', sec: 'second', m: 'minute', min: 'minute', h: 'hour', hr: 'hour', d: 'day' },
  ...{ w: 'week', wk: 'week', mo: 'month', mon: 'month', qtr: 'quarter', y: 'year', yr: 'year' },
};
/** Part of a month is that part of 30 days. */
const MONTH_DAYS = 30;
/** What sums of fractions may be off by; less than a tenth of a millisecond, as a part of a day. */
const ROUNDING = 1e-9;
const AGO = /^(?:(?<amount>.+) (?:ago|earlier|before(?: now)?)|(?:now ?)?- ?(?<signed>.+))$/;
const AHEAD =
  /^(?:(?:in|within|for|after|this)(?: |(?=\d))(?<amount>.+)|(?<later>.+) (?:from now|later|after(?: now)?|henceforth|forward|out)|(?:now ?)?\+ ?(?<signed>.+))$/;
const SPAN = /^(?:the )?(?<side>last|past|previous|next)(?: |(?=\d))(?<amount>.+)$/;
/** After `past` the number one may be left out, and after `last` and `next` as well where no calendar has a unit of that name. */
const ONE_PAST = /^(?:second|sec|minute|min|hour|hr|day|week|month|quarter|year)$/;
const ONE = /^(?:second|sec|minute|min|hour|hr|day)$/;

/** The same amount in whole months, days and milliseconds: a fraction of one is counted in the next. */
function inWholeUnits({ months, days, ms }: Amount): Amount {
  const wholeMonths = Math.floor(months + ROUNDING);
  const allDays = days + (months - wholeMonths) * MONTH_DAYS;
  const wholeDays = Math.floor(allDays + ROUNDING);
  return { months: wholeMonths, days: wholeDays, ms: Math.round(ms + (allDays - wholeDays) * DAY_MS) };
}

/** `2 weeks and 3 days`; undefined unless all of the text is an amount. */
function readAmount(text: string): Amount | undefined {
  if (text === '') return undefined;
  let amount: Amount = { months: 0, days: 0, ms: 0 };
  for (let rest = text; rest !== ''; ) {
    const part = PART.exec(rest);
    if (part === null) return undefined;
    const { count = '', unit: name = '' } = part.groups ?? {};
    const unit = UNITS[LONG_UNITS[name] ?? name];
    if (unit === undefined) return undefined;
    const times = countOf(count);
    amount = {
      months: amount.months + times * unit.months,
      days: amount.days + times * unit.days,
      ms: amount.ms + times * unit.ms,
    };
    rest = rest.slice(part[0].length);
  }
  return inWholeUnits(amount);
}

const SAME_DAY = /^(?:(?:the )?(?:this|same) day|today) (?<side>last|previous|next) (?<unit>week|month|quarter|year)$/;
const UNIT_AWAY = /^(?<side>last|previous|next) (?<unit>week|month|quarter|year)$/;

function dayAway(found: RegExpExecArray | null, present: Present): GivenDate | undefined {
  const { side, unit } = found?.groups ?? {};
  return unit === undefined ? undefined : dateAway(`1 ${unit}`, side === 'next' ? 1 : -1, present);
}

/** The day a week, month, quarter or year from today, of which `last month at 5pm` names a time. */
export function readDayOfUnit(phrase: string, present: Present): GivenDate | undefined {
  return dayAway(UNIT_AWAY.exec(phrase), present);
}

const THIS = /^(?:this|current) (?<unit>hour|minute|second)$/;

/** The hour, minute or second that it is now. */
export function readThis(phrase: string, { nowMs, zone }: Present): GivenDate | undefined {
  const { unit } = THIS.exec(phrase)?.groups ?? {};
  if (unit === undefined) return undefined;
  const unitMs = UNITS[unit]?.ms ?? 0;
  const fromMs = nowMs - (zone.toLocal(nowMs) % unitMs);
  return { type: 'span', fromMs, toMs: fromMs + unitMs - 1 };
}

/** Where an amount away from the present is: the local time and the instant; undefined beyond the calendar. */
function away(amount: Amount, direction: 1 | -1, { nowMs, zone }: Present) {
  const now = zone.toLocal(nowMs);
  const localMs = addUnits(addUnits(now, 'month', direction * amount.months), 'day', direction * amount.days);
  if (!isInCalendar(localMs)) return undefined;
  const ms = (localMs === now ? nowMs : zone.toInstant(localMs)) + direction * amount.ms;
  return isInCalendar(ms) ? { localMs, ms } : undefined;
}

/** A day when only days and longer units are counted, else an instant. */
function dateAway(text: string, direction: 1 | -1, present: Present): GivenDate | undefined {
  const amount = readAmount(text);
  const place = amount && away(amount, direction, present);
  if (place === undefined) return undefined;
  if (amount?.ms !== 0) return { type: 'instant', ms: place.ms };
  const midnight = midnightBefore(place.localMs);
  return { type: 'days', firstMs: midnight, lastMs: midnight, atMs: place.localMs };
}

function readSpan(phrase: string, present: Present): GivenDate | undefined {
  const { side, amount: text = '' } = SPAN.exec(phrase)?.groups ?? {};
  const amount = readAmount((side === 'past' ? ONE_PAST : ONE).test(text) ? `1 ${text}` : text);
  const place = amount && away(amount, side === 'next' ? 1 : -1, present);
  if (place === undefined) return undefined;
  const { nowMs } = present;
  return side === 'next'
    ? { type: 'span', fromMs: nowMs, toMs: place.ms }
    : { type: 'span', fromMs: place.ms, toMs: nowMs };
}

/**
 * Reads dates that are counted from the present: `7 days ago`, `in 2 hours`, `a week and 3 days from now`, and the time up to or
 * from it: `last 7 days`, `past hour`, `next 2 weeks`. Undefined for other phrases.
 *
 * @param phrase in lower case, with single spaces
 */
export function readAmountDate(phrase: string, present: Present): GivenDate | undefined {
  const named = readThis(phrase, present) ?? dayAway(SAME_DAY.exec(phrase), present);
  if (named !== undefined) return named;
  const past = AGO.exec(phrase)?.groups ?? {};
  const ago = past.amount ?? past.signed;
  if (ago !== undefined) return dateAway(ago, -1, present);
  const { amount, later, signed } = AHEAD.exec(phrase)?.groups ?? {};
  const ahead = amount ?? later ?? signed;
  return ahead === undefined ? readSpan(phrase, present) : dateAway(ahead, 1, present);
}
