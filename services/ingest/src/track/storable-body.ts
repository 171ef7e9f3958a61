/** Matches NUL, which query parameters of ClickHouse cannot contain, and unpaired surrogates, which its JSON parser rejects. */
const UNSTORABLE = /\\u(?:0000|d[89a-f][0-9a-f]{2})/i;
const ESCAPES = /\\(?:\\|u(?:0000|d[89a-f][0-9a-f]{2}))/gi;
const BACKSLASH = '\\\\';

/**
 * Replaces every character that the stores cannot handle with U+FFFD. A single row with such a character would fail the whole insert,
 * after its request was already answered with success.
 */
export function storableBody<Body>(body: Body): Body {
  // `JSON.stringify` escapes exactly these characters.
  const text = JSON.stringify(body);
  if (text === undefined || !UNSTORABLE.test(text)) return body;
  return JSON.parse(text.replace(ESCAPES, (found) => (found === BACKSLASH ? found : '\ufffd'))) as Body;
}
