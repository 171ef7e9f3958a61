/** What a JSON text may have at most. */
export interface JsonSize {
  /** Lists, objects and their members. */
  readonly values: number;
  /** Lists and objects in each other. */
  readonly levels: number;
}

/** The position of the quote that ends the string which begins at `start`, or the end of the text. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text[end - 1 - escapes] === '\\') escapes++;
    if (escapes % 2 === 0) return end;
  }
  return text.length;
}

/** Whether the list or object that begins at `start` has a value. */
function hasValue(text: string, start: number): boolean {
  let next = start + 1;
  while (text[next] === ' ' || text[next] === '\n' || text[next] === '\r' || text[next] === '\t') next++;
  return text[next] !== ']' && text[next] !== '}';
}

/**
 * Whether a JSON text has more values or levels than it may, counted before it is parsed: a value costs a hundred times as much as
 * a character of text. Undefined when it has not.
 */
export function exceededJsonSize(text: string, max: JsonSize): keyof JsonSize | undefined {
  let values = 1;
  let levels = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '"') {
      at = endOfString(text, at);
    } else if (char === ',') {
      values++;
    } else if (char === '[' || char === '{') {
      if (hasValue(text, at)) values++;
      levels++;
    } else if (char === ']' || char === '}') {
      levels--;
    }
    if (levels > max.levels) return 'levels';
    if (values > max.values) return 'values';
  }
  return undefined;
}
