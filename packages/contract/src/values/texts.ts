// These functions take linear time. Regular expressions such as /\/+$/ take quadratic time on long runs of the character.

/** Removes every occurrence of `character` (one UTF-16 unit) from the end of the text. */
export function trimEndCharacter(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end -= 1;
  return end === text.length ? text : text.slice(0, end);
}

/** Removes every occurrence of `character` (one UTF-16 unit) from both ends of the text. */
export function trimCharacter(text: string, character: string): string {
  let start = 0;
  while (text[start] === character) start += 1;
  return trimEndCharacter(start === 0 ? text : text.slice(start), character);
}

const FIRST_HALF_AT_END = /[\ud800-\udbff]$/;

/** The beginning of a text, at most `charsMax` UTF-16 code units. A character of two code units is not cut in half. */
export function cutText(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : text.slice(0, charsMax).replace(FIRST_HALF_AT_END, '');
}
