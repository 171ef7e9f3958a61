import { hash } from 'node:crypto';
import { setImmediate as immediate } from 'node:timers/promises';
import type { ClickHouseClient } from '../client.js';
import type { RowsRead } from './row-reader.js';

/** Bytes of a digest. */
export const DIGEST_BYTES = 8;
const READ_MS_MAX = 30_000;
/** After decoding this many characters, which takes a few milliseconds, a read yields to the event loop. */
const CHARS_AT_ONCE = 1_000_000;

/** A statement that returns one column of texts, named `key`. */
export interface KeysRead extends Pick<RowsRead, 'query' | 'parameters' | 'settings'> {
  /** If there are more keys, none are returned. */
  readonly keysMax: number;
}

/** The digest of a key as {@link readKeyDigests} reads it: the first bytes of its SHA-256. */
export function keyDigest(key: string): Buffer {
  return hash('sha256', key, 'buffer').subarray(0, DIGEST_BYTES);
}

/**
 * Reads the digests of many keys. ClickHouse computes them, so that a million keys are a response of eleven megabytes, and their texts
 * never reach this process.
 *
 * @returns up to 256 buffers, each with any number of digests one after the other; undefined when there are more keys than `keysMax`
 * @throws ClickHouseError; network errors
 */
export async function readKeyDigests(
  clickhouse: ClickHouseClient,
  { query, parameters, settings, keysMax }: KeysRead,
): Promise<Buffer[] | undefined> {
  const rows = await clickhouse.rows<[string]>({
    query: `SELECT base64Encode(arrayStringConcat(groupArray(digest)))
FROM (SELECT substring(SHA256(key), 1, ${DIGEST_BYTES}) AS digest FROM (${query}) LIMIT {keysMax:UInt64} + 1)
GROUP BY substring(digest, 1, 1)`,
    parameters: { ...parameters, keysMax },
    settings: { max_threads: 1, max_execution_time: READ_MS_MAX / 1000, ...settings },
    owner: 'key digests',
    signal: AbortSignal.timeout(READ_MS_MAX),
  });
  const digests: Buffer[] = [];
  let chars = 0;
  for (const [text] of rows) {
    digests.push(Buffer.from(text, 'base64'));
    chars += text.length;
    if (chars < CHARS_AT_ONCE) continue;
    chars = 0;
    await immediate();
  }
  const count = digests.reduce((sum, { length }) => sum + length, 0) / DIGEST_BYTES;
  return count > keysMax ? undefined : digests;
}
