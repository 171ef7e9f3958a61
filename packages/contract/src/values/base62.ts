/** The digits in ASCII order, so that texts of equal length sort like the numbers that they encode. */
export const BASE62_ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

const PAIR_COUNT = 62 * 62;

/** All two-digit texts, so that one look-up encodes two digits. */
export const BASE62_PAIRS: readonly string[] = Array.from({ length: PAIR_COUNT }, (_, index) => {
  const high = BASE62_ALPHABET[Math.floor(index / 62)] ?? '';
  const low = BASE62_ALPHABET[index % 62] ?? '';
  return high + low;
});

const DIGIT_BY_CODE = new Int8Array(128).fill(-1);
for (let digit = 0; digit < 62; digit++) DIGIT_BY_CODE[BASE62_ALPHABET.charCodeAt(digit)] = digit;

/** Value of the base62 digit at `position`, or -1 when the character is not a digit. */
export function base62DigitAt(text: string, position: number): number {
  const code = text.charCodeAt(position);
  return code < 128 ? (DIGIT_BY_CODE[code] ?? -1) : -1;
}
