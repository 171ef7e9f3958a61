import { z } from 'zod';

/**
 * Types of query string values (spec 1.6). A value that is not of the type is an `invalid_type` issue, which answers 400;
 * one of the right type outside its range is 422.
 */

function absentWhenEmpty(value: unknown): unknown {
  return value === '' ? undefined : value;
}

/** The last value of a repeated scalar. */
function lastValue(value: unknown): unknown {
  return Array.isArray(value) ? value[value.length - 1] : value;
}

/** Free text; `x=` is the same as leaving it out. */
export const queryText = z.preprocess((value) => absentWhenEmpty(lastValue(value)), z.string().optional());

/** Free text of bounded length. */
export function queryTextUpTo(charsMax: number) {
  return z.preprocess((value) => absentWhenEmpty(lastValue(value)), z.string().max(charsMax).optional());
}

/** A list as csv, as repeated keys or both, made one csv text. */
export const queryList = z.preprocess(
  (value) => absentWhenEmpty(Array.isArray(value) ? value.join(',') : value),
  z.string().optional(),
);

/** `true` or `false` in any case. */
export const queryBoolean = z.preprocess((value) => {
  const last = absentWhenEmpty(lastValue(value));
  if (typeof last !== 'string') return last;
  const lower = last.toLowerCase();
  return lower === 'true' ? true : lower === 'false' ? false : last;
}, z.boolean().optional());

/** A number too long for one is the largest there is: out of every range, but of the right type. */
function wholeNumber(digits: string): number {
  return Math.min(Math.max(Number(digits), -Number.MAX_VALUE), Number.MAX_VALUE);
}

/** A whole decimal number between the bounds; an empty string is an error. */
export function queryInteger(bounds: { readonly min: number; readonly max: number; readonly default: number }) {
  return z.preprocess((value) => {
    const last = lastValue(value);
    return typeof last === 'string' && /^[+-]?\d+$/.test(last) ? wholeNumber(last) : last;
  }, z.number().min(bounds.min).max(bounds.max).default(bounds.default));
}

/** One of the given words; an empty string is an error. */
export function queryEnum<const Values extends readonly [string, ...string[]]>(values: Values) {
  return z.preprocess(lastValue, z.enum(values).optional());
}

/** The items of a csv text; blank ones are none. */
export function csvItems(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}
