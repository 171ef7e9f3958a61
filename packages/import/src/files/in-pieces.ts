import { setImmediate as nextTurn } from 'node:timers/promises';

/** Two thousand rows at most. */
const PIECE_CHARS = 2048;
const FIRST_HALF_AT_END = /[\ud800-\udbff]$/;

/**
 * Cuts texts for a parser that reads all rows of what it gets at once. Between two pieces other requests of the process are served. No
 * character of two code units is cut in half: parsers encode each piece for itself.
 */
export async function* inPieces(texts: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const text of texts) {
    for (let start = 0; start < text.length; ) {
      const piece = text.slice(start, start + PIECE_CHARS);
      const whole = FIRST_HALF_AT_END.test(piece) ? text.slice(start, start + PIECE_CHARS + 1) : piece;
      start += whole.length;
      yield whole;
      await nextTurn();
    }
  }
}
