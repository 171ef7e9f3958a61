import { Readable } from 'node:stream';
import type { ClickHouseClient } from '../client.js';
import { type Insertion, insertionSettings } from './insert-rows.js';
import { drain } from './pipe-rows.js';

/** An insert of serialized rows: JSON arrays in column order, one per line. */
export interface LineInsertion extends Omit<Insertion, 'rows'> {
  readonly lines: string;
}

const NAME = /^\w+$/;

/**
 * Writes serialized rows as one insert. Resolves when ClickHouse has stored them. The client's own `insert` would serialize every
 * value again.
 *
 * @throws TypeError for a name of a table or column that would have to be quoted; ClickHouseError; network errors
 */
export async function insertLines(client: ClickHouseClient, insertion: LineInsertion): Promise<void> {
  const { table, columns, lines } = insertion;
  if (![table, ...columns].every((name) => NAME.test(name)))
    throw new TypeError(`not a valid table or column name: ${table}`);
  if (lines === '') return;
  const { stream } = await client.exec({
    query: `INSERT INTO ${table} (${columns.join(', ')}) FORMAT JSONCompactEachRow`,
    values: Readable.from([Buffer.from(lines)], { objectMode: false }),
    clickhouse_settings: insertionSettings(insertion),
    ...(insertion.signal === undefined ? {} : { abort_signal: insertion.signal }),
  });
  await drain(stream);
}
