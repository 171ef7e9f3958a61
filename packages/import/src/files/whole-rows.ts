const QUOTE = 34;
const BEGIN_CHARS = 1000;
const NEVER_CLOSED = 'a quote is opened and never closed';

/** A row that cannot be read. */
export interface BadRow {
  /** Its begin. */
  readonly record: string;
  readonly error: string;
}

export interface WholeRowsOptions {
  readonly delimiter: string;
  /** What ends a row: CR, LF or both. */
  readonly newline: string;
  /** Most characters of a row. */
  readonly charsMax: number;
  /** Called for each row that cannot be read. @returns what is to stand in the text in its place */
  readonly onBadRow: (row: BadRow) => string;
}

type Place = 'begin of a field' | 'bare' | 'quoted' | 'after a quote';

/**
 * The text of a table, cut where a row ends. A row that is longer than a row may be, or whose quote is never closed, ends at its first
 * newline, so that the rows behind it are not lost; until the place that was read before, a quote that is open at the end of a line
 * ends its row as well, so that no text is read a third time. Holds one row and one chunk.
 */
export async function* wholeRows(
  texts: AsyncIterable<string>,
  { delimiter, newline, charsMax, onBadRow }: WholeRowsOptions,
): AsyncGenerator<string> {
  const delimiterCode = delimiter.charCodeAt(0);
  const newlineCode = newline.charCodeAt(newline.length - 1);
  /** Text from the begin of the row that is read. */
  let held = '';
  let at = 0;
  let place: Place = 'begin of a field';
  /** Until there, a quoted field ends with its line. */
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

  /** Leaves out the text up to the next newline; what ends in the middle of one stays. */
  function skipLine(): void {
    const end = held.indexOf(newline);
    isSkipping = end < 0;
    const cut = held.endsWith(newline.slice(0, -1)) ? newline.length - 1 : 0;
    take(isSkipping ? held.length - cut : end);
  }

  /** Ends the row at its first newline, as one that cannot be read. */
  function giveUp(error: string): void {
    const end = held.indexOf(newline);
    ready += onBadRow({ record: held.slice(0, Math.min(end < 0 ? held.length : end, BEGIN_CHARS)), error });
    singleLinesUntil = Math.max(singleLinesUntil, at);
    skipLine();
  }

  const endsLine = (code: number) =>
    code === newlineCode && (newline.length === 1 || held.charCodeAt(at - 1) === newline.charCodeAt(0));

  function nextPlace(code: number): Place {
    if (place === 'quoted') return code === QUOTE ? 'after a quote' : 'quoted';
    if (code === delimiterCode) return 'begin of a field';
    if (code === QUOTE && place !== 'bare') return 'quoted';
    return 'bare';
  }

  /** Reads what is held. */
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
      if (endsLine(code) && (!isOpen() || at < singleLinesUntil)) {
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

  function* given(): Generator<string> {
    if (ready === '') return;
    const text = ready;
    ready = '';
    yield text;
  }

  for await (const text of texts) {
    held += text;
    read();
    yield* given();
  }
  while (isOpen()) {
    giveUp(NEVER_CLOSED);
    read();
  }
  if (!isSkipping) ready += held;
  yield* given();
}
