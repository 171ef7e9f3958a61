import { Readable } from 'node:stream';
import type { ClickHouseClient } from '../client.js';
import { type Insertion, insertionSettings } from './insert-rows.js';

/** An insert whose rows are text already: JSON arrays in column order, one a line. */
export interface LineInsertion extends Omit<Insertion, 'rows'> {
  readonly lines: string;
}

const NAME = /^\w+$/;

/**
 * Writes rows that were printed earlier, as one insert. Resolves when ClickHouse holds them. The client's own insert would
 * print every value again.
 */
export async function insertLines(client: ClickHouseClient, insertion: LineInsertion): Promise<void> {
  const { table, columns, lines } = insertion;
  if (![table, ...columns].every((name) => NAME.test(name))) throw new TypeError(`not names of a table: ${table}`);
  if (lines === '') return;
  const { stream } = await client.exec({
    query: `INSERT INTO ${table} (${columns.join(', ')}) FORMAT JSONCompactEachRow`,
    values: Readable.from([Buffer.from(lines)], { objectMode: false }),
    clickhouse_settings: insertionSettings(insertion),
    ...(insertion.signal === undefined ? {} : { abort_signal: insertion.signal }),
  });
  // Nothing comes, but the socket is only free once that has been read.
  stream.resume();
  await new Promise((resolve, reject) => stream.once('end', resolve).once('error', reject));
}
