import { randomUUID } from 'node:crypto';
import { ClickHouseError } from '@clickhouse/client';
import { ApiError } from '@waymark/contract';
import type { CompiledQuery } from '@waymark/event-query';
import type { ClickHouseClient } from './client.js';
import { isInfrastructureError, isRefusedForNow } from './infrastructure-error.js';
import type { ReadSummary, RowsRead } from './rows/row-reader.js';

/** The API request on whose behalf a query runs; it becomes the `log_comment` in ClickHouse's logs. */
export interface QueryCaller {
  /** Such as `GET /events`. */
  readonly endpoint: string;
  /** Public id. */
  readonly workspaceId: string;
  readonly requestId: string;
}

/** The outcome of a query, for measurements. */
export interface QueryReport extends ReadSummary {
  readonly durationMs: number;
  /** Name or code of the error, never its message; `unnamed` if it has neither; `''` if there was no error. */
  readonly error: string;
}

/** Options of {@link runCompiledQuery}. */
export interface RunQueryOptions {
  /** Aborts the query, in this process and in ClickHouse. */
  readonly signal?: AbortSignal | undefined;
  readonly caller?: QueryCaller | undefined;
  /** Called after every query, except those aborted by `signal`. */
  readonly onReport?: ((report: QueryReport) => void) | undefined;
}

/** Limits on a result, because it is held in memory. They allow a thousand events of the largest size, and the most groups of analytics. */
const RESULT_LIMITS = {
  max_result_rows: '100000',
  max_result_bytes: '120000000',
} as const;

const NOTHING_READ: ReadSummary = { readRows: 0, readBytes: 0 };

const RETRY_SECONDS = 1;

/** Messages with advice for queries that ClickHouse aborted, by error code. */
const REFUSALS: Readonly<Record<string, string>> = {
  // TIMEOUT_EXCEEDED, TOO_SLOW
  159: 'The query took too long. Ask for a shorter range of time.',
  160: 'The query took too long. Ask for a shorter range of time.',
  // MEMORY_LIMIT_EXCEEDED
  241: 'The query needs more memory than it may use. Ask for a shorter range of time or a smaller page.',
  // TOO_MANY_ROWS_OR_BYTES
  396: 'The answer is too large. Ask for a shorter range of time or a smaller page.',
};

/** The query id and the log comment by which the request is found in ClickHouse's logs. */
function logNamesOf({ settings }: CompiledQuery, caller: QueryCaller | undefined) {
  if (caller === undefined) return {};
  const { endpoint, workspaceId, requestId } = caller;
  return {
    // A proxy may send the same request id twice, and ClickHouse refuses the id of a running query, so a UUID is added.
    query_id: `${requestId}/${randomUUID()}`,
    log_comment: `${endpoint} workspace ${workspaceId} request ${requestId} reads ${settings.log_comment ?? ''}`,
  };
}

function errorName(err: unknown): string {
  if (err instanceof ClickHouseError) return err.type ?? err.code;
  const { code } = err as { readonly code?: unknown };
  return typeof code === 'string' ? code : 'unnamed';
}

function asApiError(err: unknown): unknown {
  const refusal = err instanceof ClickHouseError && !isRefusedForNow(err) ? REFUSALS[err.code] : undefined;
  if (refusal !== undefined) return new ApiError('internal_server_error', refusal, { cause: err });
  if (!isInfrastructureError(err)) return err;
  return new ApiError('internal_server_error', 'The event store does not answer at the moment. Please try again.', {
    cause: err,
    retryAfterSeconds: RETRY_SECONDS,
  });
}

/** Runs a compiled query with `read`. Adds the settings and log names that all queries have, reports the outcome, and converts errors. */
async function runWith<Result>(
  read: (statement: RowsRead) => Promise<Result>,
  compiled: CompiledQuery,
  { signal, caller, onReport }: RunQueryOptions,
): Promise<Result> {
  const { sql, params, settings } = compiled;
  const { query_id, ...comment } = logNamesOf(compiled, caller);
  const startedMs = performance.now();
  const durationMs = () => performance.now() - startedMs;
  try {
    let summary: ReadSummary = NOTHING_READ;
    const result = await read({
      query: sql,
      parameters: params,
      // Object.assign for the same reason as in row-reader.ts.
      settings: Object.assign({}, RESULT_LIMITS, settings, comment),
      queryId: query_id,
      owner: caller?.workspaceId,
      signal,
      onSummary: (received) => {
        summary = received;
      },
    });
    onReport?.({ durationMs: durationMs(), ...summary, error: '' });
    return result;
  } catch (err) {
    signal?.throwIfAborted();
    onReport?.({ durationMs: durationMs(), ...NOTHING_READ, error: errorName(err) });
    throw asApiError(err);
  }
}

/**
 * Runs a compiled query and returns its rows as arrays; 64-bit integers are strings, times are ISO 8601 in UTC.
 *
 * @throws ApiError when ClickHouse aborted the query or is unavailable; the signal's reason if it was aborted
 */
export function runCompiledQuery<Row extends readonly unknown[]>(
  client: ClickHouseClient,
  compiled: CompiledQuery,
  options: RunQueryOptions = {},
): Promise<Row[]> {
  return runWith((statement) => client.rows<Row>(statement), compiled, options);
}

/** {@link runCompiledQuery} for large results: parses each row on demand. */
export function runLargeQuery<Row extends readonly unknown[]>(
  client: ClickHouseClient,
  compiled: CompiledQuery,
  options: RunQueryOptions = {},
): Promise<Iterable<Row>> {
  return runWith((statement) => client.lazyRows<Row>(statement), compiled, options);
}
