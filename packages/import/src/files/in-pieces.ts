import { setImmediate as nextTurn } from 'node:timers/promises';
import { cutText } from '@waymark/contract';

/** Two thousand rows at most. */
const PIECE_CHARS = 2048;

/**
 * Cuts texts for a parser that reads all rows of what it gets at once. Between two pieces other requests of the process are served. No
 * character of two code units is cut in half: parsers encode each piece for itself.
 */
export async function* inPieces(texts: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const text of texts) {
    for (let start = 0; start < text.length; ) {
      const piece = cutText(text.slice(start), PIECE_CHARS);
      start += piece.length;
      yield piece;
      await nextTurn();
    }
  }
}
