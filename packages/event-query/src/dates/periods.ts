import { type CalendarUnit, DAY_MS, type Days, midnightOf, unitDays, weekdayOf } from './calendar.js';
import type { Present } from './given-date.js';
import { MONTH, monthNumber, WEEKDAY, weekdayNumber } from './words.js';

/** What a period of words is relative to. */
export interface Place {
  readonly nearest: Present['nearest'];
  /** The local time that it is now. */
  readonly nowMs: number;
}

type Reader = (parts: Readonly<Record<string, string | undefined>>, place: Place) => Days | undefined;

/** Over eight cycles, because 29 February may be that far away. */
const CYCLES_MAX = 8;
const NOON_MS = DAY_MS / 2;
const DAY_NUMBER = String.raw`(?<day>\d{1,2})(?:st|nd|rd|th)?`;
const YEAR = String.raw`(?<year>\d{4})`;
const WHICH = '(?<which>this|current|last|previous|next)';
const ORDINALS = ['first', 'second', 'third', 'fourth'];

function oneDay(midnightMs: number | undefined): Days | undefined {
  return midnightMs === undefined ? undefined : { firstMs: midnightMs, lastMs: midnightMs };
}

function offsetOf(which: string | undefined): number {
  if (which === 'last' || which === 'previous') return -1;
  return which === 'next' ? 1 : 0;
}

function yearOf(localMs: number): number {
  return new Date(localMs).getUTCFullYear();
}

/** Of something that comes again and again, the latest that has begun or the next to come; `at(0)` is the one of this cycle. */
function nearestOf(at: (cycle: number) => Days | undefined, { nearest, nowMs }: Place): Days | undefined {
  for (let cycle = 0; cycle <= CYCLES_MAX; cycle += 1) {
    const days = at(nearest === 'past' ? -cycle : cycle);
    if (days === undefined) continue;
    // A day stands for its noon.
    const endMs = days.lastMs + (days.firstMs === days.lastMs ? NOON_MS : DAY_MS);
    if (nearest === 'past' ? days.firstMs <= nowMs : endMs >= nowMs) return days;
  }
  return undefined;
}

/** The month, quarter or year that begins with a month, 1 to 12. */
function beginningWith(year: number, month: number, unit: CalendarUnit): Days | undefined {
  const firstMs = midnightOf(year, month, 1);
  return firstMs === undefined ? undefined : unitDays(firstMs, unit);
}

/** The day of a month, 1 to 12, that is meant when no year is named. */
export function nearestDay(month: number, day: number, place: Place): Days | undefined {
  return nearestOf((cycle) => oneDay(midnightOf(yearOf(place.nowMs) + cycle, month, day)), place);
}

function weekdayOfWeek(weekday: string, weeks: number, { nowMs }: Place): Days | undefined {
  return oneDay(unitDays(nowMs, 'week', weeks).firstMs + weekdayNumber(weekday) * DAY_MS);
}

/** `last` is the latest before today, `this` and `next` are of this and of the next week. */
const readWeekday: Reader = ({ which, weekday = '' }, place) => {
  if (which === undefined) return nearestOf((cycle) => weekdayOfWeek(weekday, cycle, place), place);
  if (offsetOf(which) !== -1) return weekdayOfWeek(weekday, offsetOf(which), place);
  const daysBack = (weekdayOf(place.nowMs) - weekdayNumber(weekday) + 7) % 7 || 7;
  return unitDays(place.nowMs, 'day', -daysBack);
};

/** `last` is the latest before this month, `next` the first after it, `this` the one of this year. */
const readMonth: Reader = ({ which, month = '' }, place) => {
  const number = monthNumber(month);
  const ofYear = (cycle: number) => beginningWith(yearOf(place.nowMs) + cycle, number, 'month');
  if (which === undefined) return nearestOf(ofYear, place);
  const offset = offsetOf(which);
  if (offset === 0) return ofYear(0);
  const current = unitDays(place.nowMs, 'month');
  const found = ofYear(0);
  if (found === undefined) return undefined;
  const isBeyond = offset < 0 ? found.firstMs < current.firstMs : found.firstMs > current.firstMs;
  return isBeyond ? found : ofYear(offset);
};

const readQuarter: Reader = ({ quarter = '', year }, place) => {
  const number = ORDINALS.indexOf(quarter) + 1 || Number(quarter.charAt(0));
  const ofYear = (of: number) => beginningWith(of, number * 3 - 2, 'quarter');
  return year === undefined ? nearestOf((cycle) => ofYear(yearOf(place.nowMs) + cycle), place) : ofYear(Number(year));
};

/** A week of ISO 8601: the first of a year is the one with its first Thursday. */
const readWeek: Reader = ({ week, weekday, year }) => {
  const january4 = midnightOf(Number(year), 1, 4);
  const number = Number(week);
  if (january4 === undefined || number < 1) return undefined;
  const days = unitDays(january4, 'week', number - 1);
  const thursday = days.firstMs + 3 * DAY_MS;
  if (yearOf(thursday) !== Number(year)) return undefined;
  return weekday === undefined ? days : oneDay(days.firstMs + (Number(weekday) - 1) * DAY_MS);
};

const readUnit: Reader = ({ which, unit = 'day' }, { nowMs }) => unitDays(nowMs, unit as CalendarUnit, offsetOf(which));

const readWeekend: Reader = ({ which }, place) => {
  const ofWeek = (weeks: number) => {
    const { firstMs, lastMs } = unitDays(place.nowMs, 'week', weeks);
    return { firstMs: firstMs + 5 * DAY_MS, lastMs };
  };
  return which === undefined ? nearestOf(ofWeek, place) : ofWeek(offsetOf(which));
};

const MONTH_NAME = `(?<month>${MONTH})\\.?`;
const monthDay: Reader = ({ month = '', day, year }, place) =>
  year === undefined
    ? nearestDay(monthNumber(month), Number(day), place)
    : oneDay(midnightOf(Number(year), monthNumber(month), Number(day)));
const monthOfYear: Reader = ({ month = '', year }) => beginningWith(Number(year), monthNumber(month), 'month');
const numbers: Reader = ({ year, month, day }) => oneDay(midnightOf(Number(year), Number(month), Number(day)));
const numberedMonth: Reader = ({ year, month }) => beginningWith(Number(year), Number(month), 'month');
const relativeDay =
  (days: number): Reader =>
  (_, { nowMs }) =>
    unitDays(nowMs, 'day', days);

/** Each whole period that words or ISO 8601 name. */
const PERIODS: readonly (readonly [RegExp, Reader])[] = (
  [
    ['today', relativeDay(0)],
    ['yesterday', relativeDay(-1)],
    ['tomorrow|tmrw?', relativeDay(1)],
    ['(?:the )?day before yesterday', relativeDay(-2)],
    ['(?:the )?day after tomorrow', relativeDay(2)],
    [`${WHICH} (?<unit>week|month|quarter|year)`, readUnit],
    [`(?:${WHICH} )?weekend`, readWeekend],
    [`(?:${WHICH} )?(?<weekday>${WEEKDAY})`, readWeekday],
    [
      `(?<weekday>${WEEKDAY}) (?:of )?${WHICH} week`,
      ({ which, weekday = '' }, place) => weekdayOfWeek(weekday, offsetOf(which), place),
    ],
    [`(?:${WHICH} )?${MONTH_NAME}`, readMonth],
    [`${MONTH_NAME}(?: of)?,?[ -]${YEAR}`, monthOfYear],
    [`${YEAR}[ -]${MONTH_NAME}`, monthOfYear],
    [`${MONTH_NAME}[ -]?${DAY_NUMBER}(?:(?:,|, |[ -])${YEAR})?`, monthDay],
    [`(?:the )?${DAY_NUMBER}(?: of |[ -])?${MONTH_NAME}(?:(?:,|, |[ -])?${YEAR})?`, monthDay],
    [`${YEAR}[ -]${MONTH_NAME}[ -]${DAY_NUMBER}`, monthDay],
    [YEAR, ({ year }) => beginningWith(Number(year), 1, 'year')],
    [String.raw`${YEAR}[/-](?<month>\d{1,2})`, numberedMonth],
    [String.raw`(?<month>\d{1,2})/${YEAR}`, numberedMonth],
    [String.raw`${YEAR}(?<mark>[/.-])(?<month>\d{1,2})\k<mark>(?<day>\d{1,2})`, numbers],
    [`q(?<quarter>[1-4])(?:(?: of)?[ /-]?${YEAR})?`, readQuarter],
    [`${YEAR}[ /-]?q(?<quarter>[1-4])`, readQuarter],
    [`(?:the )?(?<quarter>first|second|third|fourth|1st|2nd|3rd|4th) quarter(?:(?: of)? ${YEAR})?`, readQuarter],
    [String.raw`${YEAR}-?w(?<week>\d{2})(?:-?(?<weekday>[1-7]))?`, readWeek],
    [String.raw`week (?<week>\d{1,2})(?:,| of)? ${YEAR}`, readWeek],
  ] satisfies [string, Reader][]
).map(([pattern, read]) => [new RegExp(`^(?:${pattern})$`), read]);

const UNIT_ALONE = /^(?:the )?(day|week|month|quarter|year)$/;
const EDGE_DAY = /^(?:the )?(?<edge>first|last)(?: day)? of (?<period>(?!first of|last of|first day|last day).+)$/;

/** The period that `start of`, `end of` or `first day of` names: a unit alone is the present one. */
export function readPeriodOf(phrase: string, place: Place): Days | undefined {
  const [, unit] = UNIT_ALONE.exec(phrase) ?? [];
  return unit === undefined ? readPeriod(phrase, place) : unitDays(place.nowMs, unit as CalendarUnit);
}

/**
 * The whole days that a phrase names: a day, a week, a weekend, a month, a quarter or a year. Undefined for other phrases.
 *
 * @param phrase in lower case, with single spaces
 */
export function readPeriod(phrase: string, place: Place): Days | undefined {
  const edge = EDGE_DAY.exec(phrase);
  if (edge !== null) {
    const days = readPeriodOf(edge.groups?.period ?? '', place);
    return days && oneDay(edge.groups?.edge === 'first' ? days.firstMs : days.lastMs);
  }
  for (const [pattern, read] of PERIODS) {
    const match = pattern.exec(phrase);
    if (match !== null) return read(match.groups ?? {}, place);
  }
  return undefined;
}
