import { BASE62_PAIRS, base62DigitAt } from './base62.js';
import { randomUInt32 } from './random.js';

/** Characters of a click id, and of the `eventId` of a lead or sale. */
export const EVENT_ID_LENGTH = 16;

/** An id from a client whose time is further in the future than this counts as forged. */
export const EVENT_ID_FUTURE_MS = 10 * 60_000;

const TIME_LIMIT = 2 ** 42;
const LIMB = 2 ** 24;
const WIDE_LIMB = 2 ** 32;
const PAIR_BASE = 62 * 62;

/**
 * Creates an event id: 42 bits of milliseconds and 53 random bits, as 16 base62 digits. Ids sort by their time, which {@link eventIdTime}
 * returns.
 *
 * @param timeMs whole milliseconds since the epoch, 0 … 2^42 − 1
 * @throws RangeError when `timeMs` is out of range
 */
export function createEventId(timeMs: number): string {
  if (!Number.isInteger(timeMs) || timeMs < 0 || timeMs >= TIME_LIMIT) {
    throw new RangeError(`event time out of range: ${timeMs}`);
  }
  // The 95-bit number is kept in three parts: 31 bits of time; 11 bits of time and 21 random bits; 32 random bits. Remainders are computed
  // by subtraction, because `%` is slow for numbers beyond 32 bits. All values stay below 2^44, for which the quotients are exact.
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

/** Number of bits of an id that follow its time. */
const RANDOM_BITS = 53n;

/**
 * The event id of an event of another system. The same time and bytes always result in the same id. In place of the random bits of
 * {@link createEventId} it contains bits of `bytes`.
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

/** The time of an event id in epoch milliseconds; undefined when the text is not an event id. */
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

/** As {@link eventIdTime}, for an id from a client: undefined also when the time is more than ten minutes after `nowMs`. */
export function trustedEventIdTime(id: string, nowMs: number): number | undefined {
  const time = eventIdTime(id);
  return time === undefined || time > nowMs + EVENT_ID_FUTURE_MS ? undefined : time;
}
