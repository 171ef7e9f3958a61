/** Matches characters that JSON may escape. Of surrogates JSON escapes only lone ones; valid pairs match too, which costs only time. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression detects control characters
export const ESCAPED_IN_JSON = /["\\\u0000-\u001f\ud800-\udfff]/;

/** A faster `JSON.stringify` for strings: most texts of a click need no escape. */
export function jsonText(value: string): string {
  return ESCAPED_IN_JSON.test(value) ? JSON.stringify(value) : `"${value}"`;
}

let formattedMs = Number.NaN;
let formattedTime = '';

/** ISO-8601. Caches the last result, because many clicks share a millisecond. */
export function isoTime(timestampMs: number): string {
  if (timestampMs !== formattedMs) {
    formattedTime = new Date(timestampMs).toISOString();
    formattedMs = timestampMs;
  }
  return formattedTime;
}
