/** The escape of a surrogate, half a pair or whole; UTF-8 itself has no halves. */
const SURROGATE = /\\ud[89a-f]/i;
/** `JSON.stringify` escapes halves of surrogate pairs only. */
const ESCAPES = /\\(?:\\|ud[89a-f][0-9a-f]{2})/gi;
const BACKSLASH = '\\\\';

/**
 * Replaces halves of surrogate pairs with U+FFFD, in keys as well: JSON may have them, but jq and DuckDB refuse to read it.
 *
 * @param text the JSON of `value`
 */
export function wellFormedBody(text: string, value: unknown): unknown {
  if (!SURROGATE.test(text)) return value;
  return JSON.parse(JSON.stringify(value).replace(ESCAPES, (found) => (found === BACKSLASH ? found : '\ufffd')));
}
