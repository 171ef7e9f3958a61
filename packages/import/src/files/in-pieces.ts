import { setImmediate as nextTurn } from 'node:timers/promises';

/** At most a thousand rows. */
const PIECE_CHARS = 2048;

/** Cuts texts for a parser that reads all rows of what it gets at once. Between two pieces other requests of the process are served. */
export async function* inPieces(texts: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const text of texts) {
    for (let at = 0; at < text.length; at += PIECE_CHARS) {
      yield text.slice(at, at + PIECE_CHARS);
      await nextTurn();
    }
  }
}
