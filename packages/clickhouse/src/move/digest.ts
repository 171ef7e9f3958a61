import { type RowSums, readRowSums } from '../rows/pipe-rows.js';
import type { ConnectedEndpoint } from './endpoints.js';
import { mergedTable, type TableShape } from './table-shape.js';

/** A fingerprint of the rows of a table. */
export interface Digest extends RowSums {
  /** Number of different sorting keys in a table of records, including removed ones; 0 for other tables. */
  readonly keys: string;
}

/** Whether two tables have the same rows, according to their digests. */
export function isSame(one: Digest, other: Digest): boolean {
  return one.rows === other.rows && one.checksum === other.checksum && one.keys === other.keys;
}

/** Whether a table has no rows; one of records that are all removed is not empty. */
export function isEmpty({ rows, keys }: Digest): boolean {
  return rows === '0' && keys === '0';
}

/** Reads the digest of the rows that fulfil a condition. */
export async function readDigest({ client }: ConnectedEndpoint, shape: TableShape, where: string): Promise<Digest> {
  const sums = await readRowSums(client, shape.values.join(', '), mergedTable(shape), where);
  const key = shape.sortingKey.map(({ sql }) => sql).join(', ');
  const [keys] =
    shape.merging === 'versions'
      ? await client.rows<[string]>({ query: `SELECT toString(uniqExact(${key})) FROM ${shape.name} WHERE ${where}` })
      : [];
  return { ...sums, keys: keys?.[0] ?? '0' };
}
