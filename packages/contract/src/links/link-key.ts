import { z } from 'zod';

/** Maximum characters of a key, including the prefix of a random key, before it is encoded in punycode. */
export const KEY_CHARS_MAX = 190;
/** More characters than any valid key has in punycode. */
export const ENCODED_KEY_CHARS_MAX = 1024;

/**
 * The key of a link in a body. A key in punycode, the form in which answers show it, may be longer than {@link KEY_CHARS_MAX}: `checkKey` of
 * `packages/catalog` counts the characters that it stands for.
 */
export const linkKeySchema = z
  .string()
  .max(ENCODED_KEY_CHARS_MAX)
  .check(({ value, issues }) => {
    if (value.length <= KEY_CHARS_MAX || value.length > ENCODED_KEY_CHARS_MAX || /xn--/i.test(value)) return;
    issues.push({ code: 'too_big', origin: 'string', maximum: KEY_CHARS_MAX, inclusive: true, input: value });
  });
