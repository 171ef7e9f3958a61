import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { ClickHouseSettings } from '@clickhouse/client';
import type { ClickHouseClient } from '../client.js';

/** A fingerprint of rows: equal for the same rows, whatever their order and their parts. */
export interface RowSums {
  readonly rows: string;
  /** Sum of the hashes of all rows. */
  readonly checksum: string;
}

/** The rows to copy: a SELECT without a FORMAT. */
export interface CopySource {
  readonly client: ClickHouseClient;
  readonly query: string;
  readonly settings?: ClickHouseSettings;
}

/** Where to insert the copied rows. */
export interface CopyTarget {
  readonly client: ClickHouseClient;
  readonly table: string;
  /** The columns of the SELECT, separated by commas. */
  readonly columns: string;
  readonly settings: ClickHouseSettings;
}

/** Reads the response to an insert, which is empty, to its end: this frees the socket. @throws the error of the stream */
export async function drain(response: Readable): Promise<void> {
  response.resume();
  await finished(response);
}

/** Streams rows from one server into a table of another, as one insert. They are never all in the memory of this process. */
export async function pipeRows(source: CopySource, target: CopyTarget): Promise<void> {
  const { stream: rows } = await source.client.exec({
    query: `${source.query} FORMAT TabSeparated`,
    ...(source.settings !== undefined && { clickhouse_settings: source.settings }),
  });
  const { stream: response } = await target.client.exec({
    query: `INSERT INTO ${target.table} (${target.columns}) FORMAT TabSeparated`,
    values: rows,
    clickhouse_settings: { ...target.settings, date_time_input_format: 'basic' },
  });
  await drain(response);
}

/**
 * Reads the fingerprint of the rows that fulfil a condition.
 *
 * @param columns separated by commas
 * @param from the table, with FINAL if its rows are merged
 */
export async function readRowSums(
  client: ClickHouseClient,
  columns: string,
  from: string,
  where: string,
): Promise<RowSums> {
  const [sums] = await client.rows<[rows: string, checksum: string]>({
    // In a tuple, because the hash of a NULL is NULL, and that of a tuple with one is not.
    query: `SELECT count(), toString(sum(cityHash64(tuple(${columns})))) FROM ${from} WHERE ${where}`,
  });
  return { rows: sums?.[0] ?? '0', checksum: sums?.[1] ?? '0' };
}
