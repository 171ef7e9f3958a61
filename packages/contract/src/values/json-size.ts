/** Limits on a JSON text. */
export interface JsonSize {
  /** Number of values: the outermost one, and each member of lists and objects. */
  readonly values: number;
  /** Depth to which lists and objects are nested. */
  readonly levels: number;
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [LIST, LIST_END, OBJECT, OBJECT_END] = [0x5b, 0x5d, 0x7b, 0x7d];
const BLANKS: ReadonlySet<number> = new Set([0x20, 0x0a, 0x0d, 0x09]);

/** The position of the quote that ends the string which begins at `start`, or the end of the text. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  for (; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === QUOTE) return at;
    if (char === BACKSLASH) at++;
  }
  return at;
}

/** Whether the list or object that begins at `start` has a member. */
function hasMember(text: string, start: number): boolean {
  let next = start + 1;
  while (BLANKS.has(text.charCodeAt(next))) next++;
  const char = text.charCodeAt(next);
  return char !== LIST_END && char !== OBJECT_END;
}

/**
 * Measures a JSON text before it is parsed, because parsing a value takes a hundred times as long as scanning a character.
 *
 * @returns the limit that the text exceeds; undefined if it exceeds none
 */
export function exceededJsonSize(text: string, max: JsonSize): keyof JsonSize | undefined {
  let values = 1;
  let levels = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === QUOTE) {
      at = endOfString(text, at);
    } else if (char === COMMA) {
      values++;
    } else if (char === LIST || char === OBJECT) {
      if (hasMember(text, at)) values++;
      levels++;
    } else if (char === LIST_END || char === OBJECT_END) {
      levels--;
    }
    if (levels > max.levels) return 'levels';
    if (values > max.values) return 'values';
  }
  return undefined;
}
