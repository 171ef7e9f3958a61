import { type ClickHouseClient, isInfrastructureError } from '@waymark/clickhouse';
import { unavailable } from '../model/errors.js';

/** ClickHouse aborts a read that exceeds these limits. */
const READ_LIMITS = { max_execution_time: 5, max_memory_usage: '500000000', log_comment: 'catalog' };
/** Time after which a read is aborted even if ClickHouse has not aborted it, so that hanging reads do not block later ones. */
const ANSWER_MS_MAX = 6_000;

/** The values of a query's parameters, by name. */
export type QueryParameters = Readonly<
  Record<string, string | number | boolean | bigint | readonly string[] | readonly bigint[]>
>;

/** A read of the catalog. */
export interface RowsQuery {
  /** Constant SQL; values are passed only as `parameters`. */
  readonly query: string;
  readonly parameters: QueryParameters;
  readonly settings?: Readonly<Record<string, number>>;
  /** Of a statement that may be slow, see `RowsRead`. */
  readonly owner?: string;
}

/** A read of up to this many keys uses one thread. For more keys, several threads are faster. */
const KEYS_ON_ONE_THREAD = 200;

/** Settings of a read by primary keys: with few keys, one thread needs a fifth less processor time and is not slower. */
export function keyReadSettings(keyCount: number): Readonly<Record<string, number>> {
  return keyCount <= KEYS_ON_ONE_THREAD ? { max_threads: 1 } : {};
}

/**
 * Runs a query of the catalog, within its limits.
 *
 * @returns the rows as arrays, 64-bit integers as text
 * @throws ApiError 500 with `Retry-After` when ClickHouse is away, overloaded or out of order, or aborts a statement for time or memory;
 *   ClickHouseError when the statement is wrong
 */
export function queryRows<Row extends readonly unknown[]>(
  clickhouse: ClickHouseClient,
  { query, parameters, settings, owner }: RowsQuery,
): Promise<Row[]> {
  const reading = clickhouse.rows<Row>({
    query,
    parameters,
    owner,
    // Not a spread, for the reason in packages/clickhouse/src/rows/row-reader.ts.
    settings: Object.assign({}, settings, READ_LIMITS),
    signal: AbortSignal.timeout(ANSWER_MS_MAX),
  });
  return reading.catch((err: unknown) => {
    throw isInfrastructureError(err) ? unavailable('catalog read', err) : err;
  });
}
