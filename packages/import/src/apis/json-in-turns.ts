import { setImmediate as turn } from 'node:timers/promises';
import { JSONParser } from '@streamparser/json';

/** How much is parsed at once: at most two thousand values. */
const PART_BYTES = 16 * 1024;
/** A page of a thousand events has about half a million: names, colons, values and commas. */
const TOKENS_MAX = 2_000_000;
const SPACE = 0x20;

/** Thrown for JSON with more values than are kept in memory. */
export class TooManyValuesError extends Error {
  override readonly name = 'TooManyValuesError';
}

/**
 * Parses a long JSON text in turns with the requests of the process. Raw control characters, which some sources leave in titles, count as
 * spaces.
 *
 * @param body is changed: spaces replace its control characters
 * @throws TooManyValuesError, or an Error when it is no JSON
 */
export async function parseJsonInTurns(body: Uint8Array): Promise<unknown> {
  let parsed: unknown;
  let tokens = 0;
  const parser = new JSONParser({ paths: ['$'] });
  parser.onValue = ({ value }) => {
    parsed = value;
  };
  parser.onToken = () => {
    tokens++;
  };
  for (let start = 0; start < body.length; start += PART_BYTES) {
    const part = body.subarray(start, start + PART_BYTES);
    for (let at = 0; at < part.length; at++) if ((part[at] ?? SPACE) < SPACE) part[at] = SPACE;
    parser.write(part);
    if (tokens > TOKENS_MAX) throw new TooManyValuesError('too many values');
    await turn();
  }
  if (!parser.isEnded) throw new SyntaxError('the JSON is not complete');
  return parsed;
}
