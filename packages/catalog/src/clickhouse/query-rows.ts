import type { ClickHouseClient } from '@waymark/clickhouse';

/** ClickHouse aborts a read that exceeds these limits. */
const READ_LIMITS = { max_execution_time: 5, max_memory_usage: '500000000', log_comment: 'catalog' };
/** The read is abandoned when the server does not answer in this time, so that hanging reads do not block later ones. */
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

/** A read of up to this many keys uses one thread. With more keys, several threads are faster. */
const KEYS_ON_ONE_THREAD = 200;

/** Settings of a read by primary keys: for a few keys, one thread takes a fifth less CPU and no more time. */
export function keyReadSettings(keyCount: number): Readonly<Record<string, number>> {
  return keyCount <= KEYS_ON_ONE_THREAD ? { max_threads: 1 } : {};
}

/** The rows of a catalog query as arrays, 64-bit numbers as text. */
export function queryRows<Row extends readonly unknown[]>(
  clickhouse: ClickHouseClient,
  { query, parameters, settings }: RowsQuery,
): Promise<Row[]> {
  return clickhouse.rows<Row>({
    query,
    parameters,
    settings: { ...settings, ...READ_LIMITS },
    signal: AbortSignal.timeout(ANSWER_MS_MAX),
  });
}
