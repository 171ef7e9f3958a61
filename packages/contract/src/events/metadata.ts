import { z } from 'zod';
import { jsonValueSchema } from '../values/json-value.js';
import { metadataPath, metadataText } from '../values/metadata-path.js';

/** Maximum characters of the metadata of an event as JSON. */
export const METADATA_CHARS_MAX = 10_000;

/**
 * Maximum bytes of metadata in the form that queries search, in which each value has its whole path before it. A list of as many numbers as
 * {@link METADATA_CHARS_MAX} allows reaches it below a path of 30 characters; texts, and records of some members each, never do.
 */
export const METADATA_PAIRS_BYTES_MAX = 200_000;

const encoder = new TextEncoder();
/** The quotes and the comma that a pair has as an item of a list, and its `=`. */
const PAIR_BYTES = '"=",'.length;
/** The mark of an empty object or list, with its dot and the backslash before its backslash. */
const EMPTY_BYTES = '.\\\\-'.length;

/** Bytes of a text as a part of a JSON text. */
function bytesOf(text: string): number {
  return encoder.encode(JSON.stringify(text)).length - '""'.length;
}

/**
 * Bytes of the JSON list of the texts `path=value` that an event is stored with for queries (`metadataPairs` of event-format, with a comma for
 * each). Computed without making these texts: 10 kB of metadata can have 37 MB of them.
 *
 * @param bytesMax where to stop counting, because more is refused anyway
 */
export function metadataPairsBytes(metadata: Readonly<Record<string, unknown>>, bytesMax: number): number {
  let bytes = 0;
  const waiting: { readonly value: unknown; readonly pathBytes: number }[] = [];
  const addMembers = (members: readonly (readonly [string, unknown])[], before: number) => {
    for (const [key, value] of members) waiting.push({ value, pathBytes: before + bytesOf(metadataPath([key])) });
  };
  addMembers(Object.entries(metadata), 0);
  for (let next = waiting.pop(); next !== undefined && bytes <= bytesMax; next = waiting.pop()) {
    const { value, pathBytes } = next;
    if (typeof value === 'object' && value !== null) {
      const members = Object.entries(value);
      if (members.length === 0) bytes += pathBytes + EMPTY_BYTES + PAIR_BYTES;
      else addMembers(members, pathBytes + '.'.length);
    } else {
      bytes += pathBytes + bytesOf(metadataText(String(value))) + PAIR_BYTES;
    }
  }
  return bytes;
}

/** Why metadata cannot be stored; undefined if it can. @param text the metadata as JSON */
export function metadataFault(metadata: Readonly<Record<string, unknown>>, text: string) {
  if (text.length > METADATA_CHARS_MAX) {
    const message = `must have at most ${METADATA_CHARS_MAX} characters as JSON`;
    return { maximum: METADATA_CHARS_MAX, message };
  }
  if (metadataPairsBytes(metadata, METADATA_PAIRS_BYTES_MAX) > METADATA_PAIRS_BYTES_MAX) {
    const message = `must have at most ${METADATA_PAIRS_BYTES_MAX} bytes when each value is written with its whole path: shorten the names, or send fewer values`;
    return { maximum: METADATA_PAIRS_BYTES_MAX, message };
  }
  return undefined;
}

/** The metadata of a request that tracks a lead or a sale. */
export const metadataSchema = z
  .record(z.string(), jsonValueSchema)
  .nullish()
  .check(({ value, issues }) => {
    const fault = value == null ? undefined : metadataFault(value, JSON.stringify(value));
    if (fault !== undefined) issues.push({ code: 'too_big', origin: 'string', input: value, ...fault });
  })
  .describe('Object of at most 10,000 characters as JSON, which events show and `query` can filter by.');
