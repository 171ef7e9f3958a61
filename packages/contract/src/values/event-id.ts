import { BASE62_PAIRS, base62DigitAt } from './base62.js';
import { randomUInt32 } from './random.js';

/** Length of a click id, lead `eventId` or sale `eventId`. */
export const EVENT_ID_LENGTH = 16;

/** How far the time of a client-supplied id may be in the future before it counts as forged. */
export const EVENT_ID_FUTURE_MS = 10 * 60_000;

const TIME_LIMIT = 2 ** 42;
const LIMB = 2 ** 24;
const WIDE_LIMB = 2 ** 32;
const PAIR_BASE = 62 * 62;

/**
 * A new event id: 42 bits of milliseconds, then 53 random bits, base62, fixed width.
 * Ids sort by their time; {@link eventIdTime} reads it back.
 *
 * @param timeMs whole milliseconds since the epoch, 0 … 2^42 − 1
 * @throws RangeError when `timeMs` is out of range
 */
export function createEventId(timeMs: number): string {
  if (!Number.isInteger(timeMs) || timeMs < 0 || timeMs >= TIME_LIMIT) {
    throw new RangeError(`event time out of range: ${timeMs}`);
  }
  // The 95-bit number as three limbs: 31 bits of time, 11 of time + 21 random, 32 random. Remainders are computed by subtraction,
  // because `%` is slow for numbers beyond 32 bits; quotients stay exact below 2^44.
  let high = Math.floor(timeMs / 2 ** 11);
  let middle = (timeMs - high * 2 ** 11) * 2 ** 21 + (randomUInt32() >>> 11);
  let low = randomUInt32();
  let text = '';
  for (let pair = 0; pair < EVENT_ID_LENGTH / 2; pair++) {
    const highQuotient = Math.floor(high / PAIR_BASE);
    const middleValue = (high - highQuotient * PAIR_BASE) * WIDE_LIMB + middle;
    const middleQuotient = Math.floor(middleValue / PAIR_BASE);
    const lowValue = (middleValue - middleQuotient * PAIR_BASE) * WIDE_LIMB + low;
    const lowQuotient = Math.floor(lowValue / PAIR_BASE);
    text = (BASE62_PAIRS[lowValue - lowQuotient * PAIR_BASE] ?? '') + text;
    high = highQuotient;
    middle = middleQuotient;
    low = lowQuotient;
  }
  return text;
}

/** The bits of an id below its time. */
const RANDOM_BITS = 53n;

/**
 * The event id of something that happened elsewhere: of the same time and bytes it is always the same, and it is made up of the bytes where
 * {@link createEventId} has random bits.
 *
 * @param timeMs whole milliseconds since the epoch, 0 … 2^42 − 1
 * @param bytes evenly distributed, such as those of a hash; the first seven count
 * @throws RangeError when `timeMs` is out of range or there are fewer bytes
 */
export function derivedEventId(timeMs: number, bytes: Uint8Array): string {
  if (!Number.isInteger(timeMs) || timeMs < 0 || timeMs >= TIME_LIMIT) {
    throw new RangeError(`event time out of range: ${timeMs}`);
  }
  if (bytes.length < 7) throw new RangeError(`an event id needs 7 bytes: ${bytes.length}`);
  let low = 0n;
  for (const byte of bytes.subarray(0, 7)) low = low * 256n + BigInt(byte);
  let rest = (BigInt(timeMs) << RANDOM_BITS) | (low & ((1n << RANDOM_BITS) - 1n));
  let text = '';
  for (let pair = 0; pair < EVENT_ID_LENGTH / 2; pair++) {
    text = (BASE62_PAIRS[Number(rest % BigInt(PAIR_BASE))] ?? '') + text;
    rest /= BigInt(PAIR_BASE);
  }
  return text;
}

/** The creation time of an event id in milliseconds, or undefined when the text is not an event id. */
export function eventIdTime(id: string): number | undefined {
  if (id.length !== EVENT_ID_LENGTH) return undefined;
  const limbs = [0, 0, 0, 0];
  for (let position = 0; position < EVENT_ID_LENGTH; position++) {
    let carry = base62DigitAt(id, position);
    if (carry < 0) return undefined;
    for (let index = 3; index >= 0; index--) {
      const value = (limbs[index] ?? 0) * 62 + carry;
      limbs[index] = value % LIMB;
      carry = Math.floor(value / LIMB);
    }
    if (carry > 0) return undefined;
  }
  const top = limbs[0] ?? 0;
  if (top >= 2 ** 23) return undefined;
  return top * 2 ** 19 + Math.floor((limbs[1] ?? 0) / 32);
}

/** Time of a client-supplied id; undefined also when it is more than ten minutes after `nowMs`. */
export function trustedEventIdTime(id: string, nowMs: number): number | undefined {
  const time = eventIdTime(id);
  return time === undefined || time > nowMs + EVENT_ID_FUTURE_MS ? undefined : time;
}
