import type { ClickHouseClient } from '@waymark/clickhouse';

/** ClickHouse stops a read that takes more. */
const READ_LIMITS = { max_execution_time: 5, max_memory_usage: '500000000', log_comment: 'catalog' };
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

/** Up to this many keys are read on one thread; of more, several threads read faster. */
const KEYS_ON_ONE_THREAD = 200;

/** Settings of a read by primary keys: a few are read by one thread with a fifth less CPU, and no later. */
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
