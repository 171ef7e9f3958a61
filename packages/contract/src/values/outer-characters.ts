/*
 * In place of expressions such as /\/+$/, which look for the end again from every character of a run: quadratic time.
 */

/** The text without the characters of that sort at its end. @param character one UTF-16 unit */
export function withoutTrailing(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end -= 1;
  return end === text.length ? text : text.slice(0, end);
}

/** The text without the characters of that sort at its beginning and end. @param character one UTF-16 unit */
export function withoutOuter(text: string, character: string): string {
  let start = 0;
  while (text[start] === character) start += 1;
  return withoutTrailing(start === 0 ? text : text.slice(start), character);
}
