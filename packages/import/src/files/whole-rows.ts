const QUOTE = 34;
const BEGIN_CHARS = 1000;
const NEVER_CLOSED = 'a quote is opened and never closed';

/** A row that cannot be read. */
export interface BadRow {
  /** The first characters of its text. */
  readonly record: string;
  readonly error: string;
}

export interface WholeRowsOptions {
  readonly delimiter: string;
  /** The last character of a row: CR, or LF, also after a CR. */
  readonly newline: '\r' | '\n';
  /** A row with more characters cannot be read. */
  readonly charsMax: number;
  /** Called for each row that cannot be read. @returns the text that replaces the row */
  readonly onBadRow: (row: BadRow) => string;
}

/** Where in a row the next character is. */
type Place = 'begin of a field' | 'bare' | 'quoted' | 'after a quote';

/**
 * The text of a table, in pieces that end where a row ends. A row that is too long, or whose quote is never closed, is given up: it ends at
 * its first newline, so that the rows after it are not lost, and these are read a second time. During the second reading a row also ends at
 * a newline within quotes, so that no text is read a third time. Keeps one row and one chunk in memory.
 */
export async function* wholeRows(
  texts: AsyncIterable<string>,
  { delimiter, newline, charsMax, onBadRow }: WholeRowsOptions,
): AsyncGenerator<string> {
  const delimiterCode = delimiter.charCodeAt(0);
  const newlineCode = newline.charCodeAt(0);
  /** The text from the start of the current row. */
  let held = '';
  let at = 0;
  let place: Place = 'begin of a field';
  /** Position in `held` up to which the text was read before: until there, a quoted field ends with its line. */
  let singleLinesUntil = 0;
  /** Whether the text up to the next newline belongs to a row that was given up. */
  let isSkipping = false;
  let ready = '';

  const isOpen = () => place === 'quoted';

  function take(end: number): void {
    held = held.slice(end);
    singleLinesUntil = Math.max(0, singleLinesUntil - end);
    at = 0;
    place = 'begin of a field';
  }

  /** Skips the text up to the next newline. */
  function skipLine(): void {
    const end = held.indexOf(newline);
    isSkipping = end < 0;
    take(isSkipping ? held.length : end);
  }

  /** Reports the current row as one that cannot be read, and ends it at its first newline. */
  function giveUp(error: string): void {
    const end = held.indexOf(newline);
    const begin = held.slice(0, Math.min(end < 0 ? held.length : end, BEGIN_CHARS));
    ready += onBadRow({ record: begin.replace(/\r$/, ''), error });
    singleLinesUntil = Math.max(singleLinesUntil, at);
    skipLine();
  }

  function nextPlace(code: number): Place {
    if (place === 'quoted') return code === QUOTE ? 'after a quote' : 'quoted';
    if (code === delimiterCode) return 'begin of a field';
    if (code === QUOTE && place !== 'bare') return 'quoted';
    return 'bare';
  }

  /** Reads `held` as far as possible, and moves complete rows to `ready`. */
  function read(): void {
    let rowsEnd = 0;
    const settle = () => {
      ready += held.slice(0, rowsEnd);
      at -= rowsEnd;
      held = held.slice(rowsEnd);
      singleLinesUntil = Math.max(0, singleLinesUntil - rowsEnd);
      rowsEnd = 0;
    };
    if (isSkipping) skipLine();
    while (!isSkipping && at < held.length) {
      const code = held.charCodeAt(at);
      if (code === newlineCode && (!isOpen() || at < singleLinesUntil)) {
        if (isOpen()) {
          settle();
          giveUp(NEVER_CLOSED);
          continue;
        }
        place = 'begin of a field';
        rowsEnd = ++at;
        continue;
      }
      place = nextPlace(code);
      at++;
      if (at - rowsEnd > charsMax) {
        settle();
        giveUp(`the row has more than ${charsMax} characters: is a quote not closed?`);
      }
    }
    settle();
  }

  /** Yields the complete rows, once. */
  function* completeRows(): Generator<string> {
    if (ready === '') return;
    const text = ready;
    ready = '';
    yield text;
  }

  for await (const text of texts) {
    held += text;
    read();
    yield* completeRows();
  }
  while (isOpen()) {
    giveUp(NEVER_CLOSED);
    read();
  }
  if (!isSkipping) ready += held;
  yield* completeRows();
}
