import type { ConnectedEndpoint } from './endpoints.js';
import type { TableShape } from './table-shape.js';

/** A fingerprint of rows: equal for two tables with the same rows, whatever their order and their parts. */
export interface Digest {
  readonly rows: string;
  /** Sum of the hashes of all rows. */
  readonly checksum: string;
  /** Number of different sorting keys in a table of records, including removed ones; 0 for other tables. */
  readonly keys: string;
}

export function isSame(one: Digest, other: Digest): boolean {
  return one.rows === other.rows && one.checksum === other.checksum && one.keys === other.keys;
}

export function isEmpty({ rows, keys }: Digest): boolean {
  return rows === '0' && keys === '0';
}

/** The FROM expression for a table as queries see it, with the rows of one key merged. */
export function merged({ name, merging }: Pick<TableShape, 'name' | 'merging'>): string {
  return merging === 'none' ? name : `${name} FINAL`;
}

/** Reads the digest of the rows that fulfil a condition. */
export async function readDigest({ client }: ConnectedEndpoint, shape: TableShape, where: string): Promise<Digest> {
  const read = (query: string) => client.rows<[string, string]>({ query });
  // In a tuple, because the hash of a NULL is NULL, and that of a tuple with one is not.
  const [sums] = await read(
    `SELECT count(), sum(cityHash64(tuple(${shape.values.join(', ')}))) FROM ${merged(shape)} WHERE ${where}`,
  );
  const key = shape.sortingKey.map(({ sql }) => sql).join(', ');
  const [keys] =
    shape.merging === 'versions' ? await read(`SELECT uniqExact(${key}), '' FROM ${shape.name} WHERE ${where}`) : [];
  return { rows: sums?.[0] ?? '0', checksum: sums?.[1] ?? '0', keys: keys?.[0] ?? '0' };
}
