import { expiryOf } from '../retention/retention.js';
import type { ConnectedEndpoint } from './endpoints.js';

/** A column or expression, and its type. */
export interface TypedExpression {
  readonly sql: string;
  readonly type: string;
}

/** The properties of a table that a copy depends on. */
export interface TableShape {
  readonly name: string;
  /** The columns that are inserted. The server computes the others from them. */
  readonly columns: readonly string[];
  /** The expression that is read for each of `columns`. */
  readonly values: readonly string[];
  readonly sortingKey: readonly TypedExpression[];
  /** Undefined when the table has only one partition. */
  readonly partitionKey: TypedExpression | undefined;
  /** How rows of one key are merged: not at all, into sums, or into the latest version, which may be a removal. */
  readonly merging: 'none' | 'sums' | 'versions';
  /** The condition for rows that do not expire soon. */
  readonly kept: string;
  /** Bytes of a row in memory, on average. */
  readonly rowBytes: number;
}

/** The FROM expression for a table as queries see it, with the rows of one key merged. */
export function mergedTable({ name, merging }: Pick<TableShape, 'name' | 'merging'>): string {
  return merging === 'none' ? name : `${name} FINAL`;
}

const MERGING = { MergeTree: 'none', AggregatingMergeTree: 'sums', ReplacingMergeTree: 'versions' } as const;
const LOCAL = '_local';
const ROW_BYTES_UNKNOWN = 500;

function mergingOf(table: string, engine: string): TableShape['merging'] {
  const name = engine.replace(/^Replicated/, '');
  if (name in MERGING) return MERGING[name as keyof typeof MERGING];
  throw new Error(`the table ${table} has the engine ${engine}, which cannot be moved`);
}

/** The name of the table that stores the rows on a node; on a cluster the name without `_local` is that of the `Distributed` table. */
function localName(table: string, { cluster }: Pick<ConnectedEndpoint, 'cluster'>): string {
  return cluster === undefined ? table : table + LOCAL;
}

/** The tables whose rows are moved: all MergeTree tables of the target, except those with the state of migrations and moves. */
export async function tablesToMove({ client, cluster }: ConnectedEndpoint): Promise<string[]> {
  const rows = await client.rows<[string]>({
    query: `SELECT name FROM system.tables WHERE database = currentDatabase()
      AND engine LIKE '%MergeTree' AND NOT startsWith(name, 'schema_') ORDER BY name`,
  });
  return rows.map(([name]) => (cluster === undefined ? name : name.slice(0, -LOCAL.length)));
}

/**
 * Reads the shape of a table at the source.
 *
 * @param keptAfter epoch seconds; rows that expire before are not moved
 * @throws Error when the source has no such table, or its engine is not supported
 */
export async function readShape(source: ConnectedEndpoint, name: string, keptAfter: number): Promise<TableShape> {
  const { client } = source;
  const parameters = { table: localName(name, source) };
  const [table] = await client.rows<[string, string, string, string]>({
    query: `SELECT engine, create_table_query, partition_key, sorting_key FROM system.tables
      WHERE database = currentDatabase() AND name = {table:String}`,
    parameters,
  });
  if (table === undefined) throw new Error(`the source has no table ${name}`);
  const [engine, definition, partitionKey, sortingKey] = table;
  const columns = await client.rows<[string, string]>({
    query: `SELECT name, type FROM system.columns
      WHERE database = currentDatabase() AND table = {table:String} AND default_kind IN ('', 'DEFAULT') ORDER BY position`,
    parameters,
  });
  const [size] = await client.rows<[string, string]>({
    query: `SELECT sum(data_uncompressed_bytes), sum(rows) FROM system.parts
      WHERE database = currentDatabase() AND table = {table:String} AND active`,
    parameters,
  });
  const types = new Map(columns.map(([column, type]) => [column, type]));
  const [bytes, rows] = (size ?? []).map(Number);
  const expiry = expiryOf(definition);
  const isKept = (expression: string) => `${expression} > toDateTime(${keptAfter})`;
  const names = columns.map(([column]) => column);
  return {
    name,
    columns: names,
    values: names.map((column) =>
      column === 'ip' && expiry.addresses !== undefined ? `if(${isKept(expiry.addresses)}, ip, '')` : column,
    ),
    sortingKey: sortingKey.split(', ').map((sql) => ({ sql, type: types.get(sql) ?? 'String' })),
    partitionKey: partitionKey === '' ? undefined : await typed(source, name, partitionKey),
    merging: mergingOf(name, engine),
    kept: expiry.rows === undefined ? '1' : isKept(expiry.rows),
    rowBytes: rows ? Math.max(1, (bytes ?? 0) / rows) : ROW_BYTES_UNKNOWN,
  };
}

async function typed({ client }: ConnectedEndpoint, table: string, sql: string): Promise<TypedExpression> {
  const [row] = await client.rows<[string]>({ query: `SELECT toTypeName(any(${sql})) FROM ${table} WHERE 0` });
  return { sql, type: row?.[0] ?? 'String' };
}
