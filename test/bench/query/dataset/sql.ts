import { BASE62 } from './world.js';

/*
 * SQL expressions for the generator. All randomness is a hash of the row's number and the seed: the same sizes and seed give the same
 * rows, whatever the order of their creation.
 */

/** A uniform number in [0, 1) from one of many independent sequences: `stream` selects the sequence, `of` the row. */
export function uniform(seed: number, stream: number, of = 'number'): string {
  return `(cityHash64(${of}, ${seed}, ${stream}) / 18446744073709551616.)`;
}

/** A whole number in [0, count), low ones more frequent; the higher `skew`, the more so. */
export function skewed(count: number | string, skew: number, u: string): string {
  return `toUInt64(${count} * pow(${u}, ${skew}))`;
}

/** A rank in 1 … count (Zipf's law, exponent 1): the first has a share of about 1 / ln(count). */
export function zipfRank(count: string, u: string): string {
  return `least(toUInt64(${count}), toUInt64(exp(${u} * log(${count} + 1))))`;
}

export function array(values: readonly (string | number | bigint)[]): string {
  return `[${values.map((value) => (typeof value === 'string' ? `'${value}'` : value)).join(', ')}]`;
}

/** One of the values, those at low positions more frequent. */
export function pickSkewed(values: readonly string[], skew: number, u: string): string {
  return `${array(values)}[1 + ${skewed(values.length, skew, u)}]`;
}

const POWERS = Array.from({ length: 11 }, (_, index) => 62n ** BigInt(index));

/** A UInt64 as base62 text of fixed width, as in ids. */
export function base62(number: string, width: number): string {
  const powers = POWERS.slice(0, width).reverse();
  return `arrayStringConcat(arrayMap(power -> substring('${BASE62}', 1 + intDiv(${number}, power) % 62, 1), ${array(powers)}))`;
}

/** The id of an event: 42 bits of milliseconds and 53 random bits as 16 base62 digits, computed in two halves. */
export function eventId(ms: string, random: string): string {
  const whole = `(toUInt128(${ms}) * 9007199254740992 + bitShiftRight(${random}, 11))`;
  const half = String(62n ** 8n);
  return `concat(${base62(`toUInt64(intDiv(${whole}, ${half}))`, 8)}, ${base62(`toUInt64(${whole} % ${half})`, 8)})`;
}

/** A time in milliseconds in the format of the API. */
export function isoTime(ms: string): string {
  return `concat(replaceOne(toString(fromUnixTimestamp64Milli(toInt64(${ms}), 'UTC')), ' ', 'T'), 'Z')`;
}

/** Public id of a resource. */
export function resourceId(prefix: string, number: string): string {
  return `concat('${prefix}', ${base62(number, 11)})`;
}
