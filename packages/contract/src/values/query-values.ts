import { z } from 'zod';

/**
 * Schemas of query parameters. A value of the wrong type is an `invalid_type` issue, which is answered with 400. A value of the right type
 * that is outside its range is answered with 422.
 */

function absentWhenEmpty(value: unknown): unknown {
  return value === '' ? undefined : value;
}

/** The last value of a parameter that must have a single value but was repeated. */
export function lastValue(value: unknown): unknown {
  return Array.isArray(value) ? value[value.length - 1] : value;
}

/** More characters than any id, name or key has. */
const TEXT_CHARS_MAX = 4096;
/** Maximum characters of a list: enough for a thousand UUIDs after `ext_` or `-`, or for the longest URL. */
export const LIST_CHARS_MAX = 64_000;

/** Free text of bounded length; an empty value counts as absent. */
export function queryTextUpTo(charsMax: number) {
  return z.preprocess((value) => absentWhenEmpty(lastValue(value)), z.string().max(charsMax).optional());
}

/** Free text: one id, name, key or search. */
export const queryText = queryTextUpTo(TEXT_CHARS_MAX);

/** A list in the multi-value syntax of filters. */
export const queryValues = queryTextUpTo(LIST_CHARS_MAX);

/** Maximum characters of a date in a request. */
export const DATE_CHARS_MAX = 100;

/** The accepted forms of dates; `docs/reference/dates.md` explains them. */
export const DATE_FORMS =
  'ISO 8601 (`2026-03-04`, `2026-03-04T12:30:00Z`, `2026-03`, `2026-W10`) or English words (`yesterday`, `7 days ago`, `last month`, `Q1 2026`, `jan 5`, `end of last quarter`)';

/** Maximum number of items of a list in a query. */
const LIST_ITEMS_MAX = 1000;

const ONLY_COMMAS = /^,*$/;

/** A list as one CSV text; undefined if it has no item, as in `x=`, `x=&x=` and `x=,`. */
function joinedList(value: unknown): unknown {
  const joined = Array.isArray(value) ? value.join(',') : value;
  return typeof joined === 'string' && ONLY_COMMAS.test(joined) ? undefined : joined;
}

const listText = z.string().max(LIST_CHARS_MAX, { abort: true });

/** A list as a CSV text, with a limit of its items, because each may need a look-up. See {@link csvItems}. */
export const csvText = (text: z.ZodString, itemsMax: number) =>
  text.check(({ value, issues }) => {
    if (csvItems(value).length <= itemsMax) return;
    issues.push({ code: 'too_big', origin: 'array', maximum: itemsMax, inclusive: true, input: value });
  });

/**
 * A list, sent as CSV, as a repeated parameter or both. Without an item it counts as absent. The parsed value is one CSV text; see
 * {@link csvItems}.
 */
export const queryList = z.preprocess(joinedList, csvText(listText, LIST_ITEMS_MAX).optional());

/** A list in the multi-value syntax of filters, sent like a {@link queryList}. Its parser counts the items, without lone dashes. */
export const queryJoinedValues = z.preprocess(joinedList, listText.optional());

/** `true` or `false` in any case. */
export const queryBoolean = z.preprocess((value) => {
  const last = absentWhenEmpty(lastValue(value));
  if (typeof last !== 'string') return last;
  const lower = last.toLowerCase();
  return lower === 'true' ? true : lower === 'false' ? false : last;
}, z.boolean().optional());

/** Some clients have one type of numbers, so that a whole number has a fraction, which is zero. */
const WHOLE_NUMBER = /^[+-]?\d+(?:\.0+)?$/;
const DECIMAL_NUMBER = /^[+-]?\d+(?:\.\d+)?$/;

/** Parses digits. A number beyond the range of doubles becomes the largest double, so that it is out of range and not of a wrong type. */
function decimalNumber(digits: string): number {
  return Math.min(Math.max(Number(digits), -Number.MAX_VALUE), Number.MAX_VALUE);
}

/** The message for wrong types. For numbers outside the bounds, the default messages are more specific. */
const wholeNumberMessage: z.core.$ZodErrorMap = ({ code }) =>
  code === 'invalid_type' ? 'must be a whole number' : undefined;

interface NumberBounds {
  readonly min: number;
  readonly max: number;
  readonly default: number;
}

function queryNumber(form: RegExp, number: z.ZodDefault<z.ZodNumber>) {
  return z.preprocess((value) => {
    const last = lastValue(value);
    return typeof last === 'string' && form.test(last) ? decimalNumber(last) : last;
  }, number);
}

/** A whole decimal number between the bounds; an empty string is an error. */
export function queryInteger(bounds: NumberBounds) {
  const number = z.number({ error: wholeNumberMessage }).min(bounds.min).max(bounds.max);
  return queryNumber(WHOLE_NUMBER, number.default(bounds.default));
}

/** A decimal number between the bounds, rounded to a whole one; an empty string is an error. */
export function queryRounded(bounds: NumberBounds) {
  const number = z.number().min(bounds.min).max(bounds.max).overwrite(Math.round);
  return queryNumber(DECIMAL_NUMBER, number.default(bounds.default));
}

/**
 * One of the given words; an empty string is an error.
 *
 * @param olderNames names of some of these words that older clients send
 */
export function queryEnum<const Values extends readonly [string, ...string[]]>(
  values: Values,
  olderNames: ReadonlyMap<unknown, Values[number]> = new Map(),
) {
  return z.preprocess((value) => {
    const last = lastValue(value);
    return olderNames.get(last) ?? last;
  }, z.enum(values).optional());
}

/** The items of a CSV text, without blank ones. */
export function csvItems(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}
