/** Characters that JSON escapes. Only lone surrogates are escaped; whole pairs match too and take the slow path. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
export const ESCAPED_IN_JSON = /["\\\u0000-\u001f\ud800-\udfff]/;

/** A text as JSON. Clicks are built thousands of times a second, and almost none of their texts needs an escape. */
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
