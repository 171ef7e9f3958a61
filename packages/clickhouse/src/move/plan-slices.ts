import type { ConnectedEndpoint } from './endpoints.js';
import { isIn, type Slice, valueSql } from './slice.js';
import type { TableShape } from './table-shape.js';

/** Enough rows for an efficient insert, and few enough for a single block, which is stored whole or not at all. */
const ROWS_MAX = 500_000;

/** The number of rows of a slice of about `sliceBytes`. */
function rowsOfSlice({ rowBytes }: TableShape, sliceBytes: number): number {
  return Math.min(ROWS_MAX, Math.max(1, Math.round(sliceBytes / rowBytes)));
}

async function partitionsOf(
  { client }: ConnectedEndpoint,
  { name, partitionKey, kept }: TableShape,
): Promise<string[][]> {
  if (partitionKey === undefined) return [[]];
  const rows = await client.rows<[string]>({
    query: `SELECT ${valueSql(partitionKey)} FROM ${name} WHERE ${kept} GROUP BY ${partitionKey.sql} ORDER BY ${partitionKey.sql}`,
  });
  return rows.map(([value]) => [value]);
}

/** The key of every `rows`th row of a partition, in the order of the keys. Reads only the key columns. */
async function boundsOf(
  { client }: ConnectedEndpoint,
  shape: TableShape,
  partition: readonly string[],
  rows: number,
): Promise<string[][]> {
  const { name, sortingKey, kept } = shape;
  const key = sortingKey.map(({ sql }) => sql).join(', ');
  const found = await client.rows<string[]>({
    query: `SELECT ${sortingKey.map(valueSql).join(', ')}
      FROM (
        SELECT ${key}, rowNumberInAllBlocks() AS position
        FROM (SELECT ${key} FROM ${name} WHERE ${isIn(partition, shape)} AND ${kept} ORDER BY ${key})
      )
      WHERE position % ${rows} = ${rows - 1}`,
  });
  // Removes repeated keys: rows that are not merged yet may have the same key.
  return found.filter((bound, index) => bound.join() !== found[index - 1]?.join());
}

/** Divides a table into slices. The last slice of a partition has no upper bound. */
export async function planSlices(source: ConnectedEndpoint, shape: TableShape, sliceBytes: number): Promise<Slice[]> {
  const slices: Slice[] = [];
  for (const partition of await partitionsOf(source, shape)) {
    const bounds = await boundsOf(source, shape, partition, rowsOfSlice(shape, sliceBytes));
    for (const [index, upTo] of [...bounds, []].entries()) {
      slices.push({ number: slices.length, partition, above: bounds[index - 1] ?? [], upTo });
    }
  }
  return slices;
}
