import { setImmediate as immediate } from 'node:timers/promises';
import { cutText } from '@waymark/contract';

/** A piece has at most this many characters, and so at most about as many rows. */
const PIECE_CHARS = 2048;

/**
 * Cuts texts into small pieces, because a parser blocks the process while it reads the rows of one piece; other requests run in between.
 * A surrogate pair is never cut in half, because parsers encode each piece separately.
 */
export async function* inPieces(texts: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const text of texts) {
    for (let start = 0; start < text.length; ) {
      const piece = cutText(text.slice(start), PIECE_CHARS);
      start += piece.length;
      yield piece;
      await immediate();
    }
  }
}
