import { setImmediate as immediate } from 'node:timers/promises';
import { JSONParser } from '@streamparser/json';

/** Bytes that are parsed at once: a few thousand values. */
const PART_BYTES = 16 * 1024;
/** A page of a thousand events has about half a million tokens: names, colons, values and commas. */
const TOKENS_MAX = 2_000_000;
/** Buffers of the parser. Without them it appends to strings and numbers character by character, which takes several times the memory. */
const BUFFERS = { stringBufferSize: 64 * 1024, numberBufferSize: 64 };
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what this finds
const CONTROL_CHARACTERS = /[\u0000-\u001f]/g;

/** The text with a space in place of each control character. */
export function withoutControlCharacters(text: string): string {
  return text.replace(CONTROL_CHARACTERS, ' ');
}

/** Thrown for JSON with more values than are kept in memory. */
export class TooManyValuesError extends Error {
  override readonly name = 'TooManyValuesError';
}

/**
 * Parses a long JSON text in parts, and lets other requests of the process run in between. Unescaped control characters, which some sources
 * leave in titles, become spaces; bytes that are not UTF-8 become U+FFFD. A byte order mark at the beginning of a text is left out.
 *
 * @throws TooManyValuesError, or an Error when it is no JSON
 */
export async function parseJsonYielding(body: Uint8Array): Promise<unknown> {
  let parsed: unknown;
  let tokens = 0;
  const decoder = new TextDecoder();
  const parser = new JSONParser({ paths: ['$'], ...BUFFERS });
  parser.onValue = ({ value }) => {
    parsed = value;
  };
  parser.onToken = () => {
    tokens++;
  };
  for (let start = 0; start < body.length; start += PART_BYTES) {
    const part = decoder.decode(body.subarray(start, start + PART_BYTES), { stream: true });
    parser.write(withoutControlCharacters(part));
    if (tokens > TOKENS_MAX) throw new TooManyValuesError('too many values');
    await immediate();
  }
  if (!parser.isEnded) throw new SyntaxError('the JSON is not complete');
  return parsed;
}
