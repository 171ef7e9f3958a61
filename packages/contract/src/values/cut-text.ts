const FIRST_HALF_AT_END = /[\ud800-\udbff]$/;

/** The first characters (UTF-16 code units) of a text, at most that many; a character of two units is never cut in half. */
export function cutText(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : text.slice(0, charsMax).replace(FIRST_HALF_AT_END, '');
}
