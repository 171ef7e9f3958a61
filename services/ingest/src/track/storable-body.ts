/** NUL, which no query parameter can carry, and halves of surrogate pairs, which ClickHouse's JSON reader refuses. */
const UNSTORABLE = /\\u(?:0000|d[89a-f][0-9a-f]{2})/i;
const ESCAPES = /\\(?:\\|u(?:0000|d[89a-f][0-9a-f]{2}))/gi;
const BACKSLASH = '\\\\';

/**
 * A JSON value whose texts the stores can keep: every unstorable character becomes U+FFFD. One row with such a character
 * would be refused together with all rows of its insert, after its request was answered with success.
 */
export function storableBody<Body>(body: Body): Body {
  // JSON writes exactly these characters as escapes.
  const text = JSON.stringify(body);
  if (text === undefined || !UNSTORABLE.test(text)) return body;
  return JSON.parse(text.replace(ESCAPES, (found) => (found === BACKSLASH ? found : '\ufffd'))) as Body;
}
