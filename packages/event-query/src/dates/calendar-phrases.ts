import { type CalendarUnit, DAY_MS, type Days, midnightOf, unitDays, weekdayOf } from './calendar.js';
import type { DateContext } from './parsed-date.js';
import { MONTH, monthNumber, WEEKDAY, weekdayNumber } from './words.js';

/** What a period such as `last week` is relative to. */
export interface LocalContext {
  /** How to resolve a recurring date; see {@link DateContext}. */
  readonly nearest: DateContext['nearest'];
  /** The current local time, as calendar.ts represents it. */
  readonly nowMs: number;
}

type PeriodParser = (groups: Readonly<Record<string, string | undefined>>, context: LocalContext) => Days | undefined;

/** How many cycles (weeks or years) to search. Eight, because 29 February can be eight years away. */
const CYCLES_MAX = 8;
const NOON_MS = DAY_MS / 2;
const DAY_NUMBER = String.raw`(?<day>\d{1,2})(?:st|nd|rd|th)?`;
const YEAR = String.raw`(?<year>\d{4})`;
const WHICH = '(?<which>this|current|last|previous|next)';
const ORDINALS = ['first', 'second', 'third', 'fourth'];

function oneDay(midnightMs: number | undefined): Days | undefined {
  return midnightMs === undefined ? undefined : { firstMs: midnightMs, lastMs: midnightMs };
}

/** -1 for the previous period, 0 for the current one, 1 for the next one. */
function offsetOf(which: string | undefined): number {
  if (which === 'last' || which === 'previous') return -1;
  return which === 'next' ? 1 : 0;
}

function yearOf(localMs: number): number {
  return new Date(localMs).getUTCFullYear();
}

/**
 * Resolves a recurring date to the latest occurrence that has begun, or to the next one.
 *
 * @param at the occurrence in the current cycle (week or year) for 0, in the next one for 1; undefined if the cycle has none
 */
function nearestOf(at: (cycle: number) => Days | undefined, { nearest, nowMs }: LocalContext): Days | undefined {
  for (let cycle = 0; cycle <= CYCLES_MAX; cycle += 1) {
    const days = at(nearest === 'past' ? -cycle : cycle);
    if (days === undefined) continue;
    // A single day is no longer upcoming after its noon, because `parseInstant` takes a day for its noon.
    const endMs = days.lastMs + (days.firstMs === days.lastMs ? NOON_MS : DAY_MS);
    if (nearest === 'past' ? days.firstMs <= nowMs : endMs >= nowMs) return days;
  }
  return undefined;
}

/** The month, quarter or year that begins with the given month (1 to 12). */
function beginningWith(year: number, month: number, unit: CalendarUnit): Days | undefined {
  const firstMs = midnightOf(year, month, 1);
  return firstMs === undefined ? undefined : unitDays(firstMs, unit);
}

/** Resolves a day of a month (1 to 12) without a year. */
export function nearestDay(month: number, day: number, context: LocalContext): Days | undefined {
  return nearestOf((cycle) => oneDay(midnightOf(yearOf(context.nowMs) + cycle, month, day)), context);
}

function weekdayOfWeek(weekday: string, weeks: number, { nowMs }: LocalContext): Days | undefined {
  return oneDay(unitDays(nowMs, 'week', weeks).firstMs + weekdayNumber(weekday) * DAY_MS);
}

/** `last friday` is the latest one before today; `this friday` and `next friday` are in this and in the next week. */
const parseWeekday: PeriodParser = ({ which, weekday = '' }, context) => {
  if (which === undefined) return nearestOf((cycle) => weekdayOfWeek(weekday, cycle, context), context);
  if (offsetOf(which) !== -1) return weekdayOfWeek(weekday, offsetOf(which), context);
  const daysBack = (weekdayOf(context.nowMs) - weekdayNumber(weekday) + 7) % 7 || 7;
  return unitDays(context.nowMs, 'day', -daysBack);
};

/** `last june` is the latest one before the current month, `next june` the first after it, `this june` the one of this year. */
const parseMonth: PeriodParser = ({ which, month = '' }, context) => {
  const number = monthNumber(month);
  const ofYear = (cycle: number) => beginningWith(yearOf(context.nowMs) + cycle, number, 'month');
  if (which === undefined) return nearestOf(ofYear, context);
  const offset = offsetOf(which);
  if (offset === 0) return ofYear(0);
  const current = unitDays(context.nowMs, 'month');
  const found = ofYear(0);
  if (found === undefined) return undefined;
  const isBeyond = offset < 0 ? found.firstMs < current.firstMs : found.firstMs > current.firstMs;
  return isBeyond ? found : ofYear(offset);
};

const parseQuarter: PeriodParser = ({ quarter = '', year }, context) => {
  const number = ORDINALS.indexOf(quarter) + 1 || Number(quarter.charAt(0));
  const ofYear = (of: number) => beginningWith(of, number * 3 - 2, 'quarter');
  return year === undefined
    ? nearestOf((cycle) => ofYear(yearOf(context.nowMs) + cycle), context)
    : ofYear(Number(year));
};

/** A week of ISO 8601: week 1 is the week with the first Thursday of the year. */
const parseWeek: PeriodParser = ({ week, weekday, year }) => {
  const january4 = midnightOf(Number(year), 1, 4);
  const number = Number(week);
  if (january4 === undefined || number < 1) return undefined;
  const days = unitDays(january4, 'week', number - 1);
  const thursday = days.firstMs + 3 * DAY_MS;
  if (yearOf(thursday) !== Number(year)) return undefined;
  return weekday === undefined ? days : oneDay(days.firstMs + (Number(weekday) - 1) * DAY_MS);
};

const parseUnit: PeriodParser = ({ which, unit = 'day' }, { nowMs }) =>
  unitDays(nowMs, unit as CalendarUnit, offsetOf(which));

const parseWeekend: PeriodParser = ({ which }, context) => {
  const ofWeek = (weeks: number) => {
    const { firstMs, lastMs } = unitDays(context.nowMs, 'week', weeks);
    return { firstMs: firstMs + 5 * DAY_MS, lastMs };
  };
  return which === undefined ? nearestOf(ofWeek, context) : ofWeek(offsetOf(which));
};

const MONTH_NAME = `(?<month>${MONTH})\\.?`;
const monthDay: PeriodParser = ({ month = '', day, year }, context) =>
  year === undefined
    ? nearestDay(monthNumber(month), Number(day), context)
    : oneDay(midnightOf(Number(year), monthNumber(month), Number(day)));
const monthOfYear: PeriodParser = ({ month = '', year }) => beginningWith(Number(year), monthNumber(month), 'month');
const numbers: PeriodParser = ({ year, month, day }) => oneDay(midnightOf(Number(year), Number(month), Number(day)));
const numberedMonth: PeriodParser = ({ year, month }) => beginningWith(Number(year), Number(month), 'month');
const relativeDay =
  (days: number): PeriodParser =>
  (_, { nowMs }) =>
    unitDays(nowMs, 'day', days);

/** The supported phrases and ISO 8601 forms, each with its parser. */
const PERIODS: readonly (readonly [RegExp, PeriodParser])[] = (
  [
    ['today', relativeDay(0)],
    ['yesterday', relativeDay(-1)],
    ['tomorrow|tmrw?', relativeDay(1)],
    ['(?:the )?day before yesterday', relativeDay(-2)],
    ['(?:the )?day after tomorrow', relativeDay(2)],
    [`${WHICH} (?<unit>week|month|quarter|year)`, parseUnit],
    [`(?:${WHICH} )?weekend`, parseWeekend],
    [`(?:${WHICH} )?(?<weekday>${WEEKDAY})`, parseWeekday],
    [
      `(?<weekday>${WEEKDAY}) (?:of )?${WHICH} week`,
      ({ which, weekday = '' }, context) => weekdayOfWeek(weekday, offsetOf(which), context),
    ],
    [`(?:${WHICH} )?${MONTH_NAME}`, parseMonth],
    [`${MONTH_NAME}(?: of)?,?[ -]${YEAR}`, monthOfYear],
    [`${YEAR}[ -]${MONTH_NAME}`, monthOfYear],
    [`${MONTH_NAME}[ -]?${DAY_NUMBER}(?:(?:,|, |[ -])${YEAR})?`, monthDay],
    [`(?:the )?${DAY_NUMBER}(?: of |[ -])?${MONTH_NAME}(?:(?:,|, |[ -])?${YEAR})?`, monthDay],
    [`${YEAR}[ -]${MONTH_NAME}[ -]${DAY_NUMBER}`, monthDay],
    [YEAR, ({ year }) => beginningWith(Number(year), 1, 'year')],
    [String.raw`${YEAR}[/-](?<month>\d{1,2})`, numberedMonth],
    [String.raw`(?<month>\d{1,2})/${YEAR}`, numberedMonth],
    [String.raw`${YEAR}(?<mark>[/.-])(?<month>\d{1,2})\k<mark>(?<day>\d{1,2})`, numbers],
    [`q(?<quarter>[1-4])(?:(?: of)?[ /-]?${YEAR})?`, parseQuarter],
    [`${YEAR}[ /-]?q(?<quarter>[1-4])`, parseQuarter],
    [`(?:the )?(?<quarter>first|second|third|fourth|1st|2nd|3rd|4th) quarter(?:(?: of)? ${YEAR})?`, parseQuarter],
    [String.raw`${YEAR}-?w(?<week>\d{2})(?:-?(?<weekday>[1-7]))?`, parseWeek],
    [String.raw`week (?<week>\d{1,2})(?:,| of)? ${YEAR}`, parseWeek],
  ] satisfies [string, PeriodParser][]
).map(([pattern, read]) => [new RegExp(`^(?:${pattern})$`), read]);

const UNIT_ALONE = /^(?:the )?(day|week|month|quarter|year)$/;
const EDGE_DAY = /^(?:the )?(?<edge>first|last)(?: day)? of (?<period>(?!first of|last of|first day|last day).+)$/;

/** Parses the period after `start of`, `end of` or `first day of`. There, a unit alone means the current one: `start of month`. */
export function parsePeriodOrUnit(phrase: string, context: LocalContext): Days | undefined {
  const [, unit] = UNIT_ALONE.exec(phrase) ?? [];
  return unit === undefined ? parsePeriod(phrase, context) : unitDays(context.nowMs, unit as CalendarUnit);
}

/**
 * Parses a phrase for whole days: a day, a week, a weekend, a month, a quarter or a year. Undefined for other phrases.
 *
 * @param phrase in lower case, with single spaces
 */
export function parsePeriod(phrase: string, context: LocalContext): Days | undefined {
  const edge = EDGE_DAY.exec(phrase);
  if (edge !== null) {
    const days = parsePeriodOrUnit(edge.groups?.period ?? '', context);
    return days && oneDay(edge.groups?.edge === 'first' ? days.firstMs : days.lastMs);
  }
  for (const [pattern, read] of PERIODS) {
    const match = pattern.exec(phrase);
    if (match !== null) return read(match.groups ?? {}, context);
  }
  return undefined;
}
