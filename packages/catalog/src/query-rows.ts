import type { ClickHouseClient } from '@waymark/clickhouse';

/** ClickHouse stops a read after this. */
const READ_SECONDS_MAX = 5;
/** A server that does not even do that is given up: reads that hang would hold the places of those that come after. */
const ANSWER_MS_MAX = 6_000;

/** Values of a constant query, by parameter name. */
export type QueryParameters = Readonly<
  Record<string, string | number | boolean | bigint | readonly string[] | readonly bigint[]>
>;

export interface RowsQuery {
  /** Constant SQL; values only through `parameters`. */
  readonly query: string;
  readonly parameters: QueryParameters;
  readonly settings?: Readonly<Record<string, number>>;
}

/** The rows of a catalog query as arrays, 64-bit numbers as text. */
export async function queryRows<Row extends readonly unknown[]>(
  clickhouse: ClickHouseClient,
  { query, parameters, settings }: RowsQuery,
): Promise<Row[]> {
  const result = await clickhouse.query({
    query,
    query_params: parameters,
    format: 'JSONCompactEachRow',
    clickhouse_settings: { ...settings, max_execution_time: READ_SECONDS_MAX },
    abort_signal: AbortSignal.timeout(ANSWER_MS_MAX),
  });
  return result.json<Row>();
}
