import { randomUUID } from 'node:crypto';
import { ClickHouseError } from '@clickhouse/client';
import { ApiError } from '@waymark/contract';
import type { CompiledQuery } from '@waymark/event-query';
import type { ClickHouseClient } from './client.js';
import { isInfrastructureError } from './infrastructure-error.js';
import type { ReadSummary } from './rows/row-reader.js';

/** Whose query it is: in ClickHouse's own logs as its `log_comment`. */
export interface QueryCaller {
  /** Such as `GET /events`. */
  readonly endpoint: string;
  /** Public id. */
  readonly workspaceId: string;
  readonly requestId: string;
}

/** How a query went. */
export interface QueryReport extends ReadSummary {
  readonly durationMs: number;
  /** Name or code of the error, never its text; `''` when there was none. */
  readonly error: string;
}

export interface RunQueryOptions {
  /** Ends the query, here and in ClickHouse. */
  readonly signal?: AbortSignal | undefined;
  readonly caller?: QueryCaller | undefined;
  /** Told of every query but those that `signal` ended. */
  readonly onReport?: ((report: QueryReport) => void) | undefined;
}

/** All rows of an answer are held in memory: a thousand of the largest events, or as many groups as an answer may have. */
const RESULT_LIMITS = {
  max_result_rows: '100000',
  max_result_bytes: '120000000',
  result_overflow_mode: 'throw',
} as const;

const NOTHING_READ: ReadSummary = { readRows: 0, readBytes: 0 };

const RETRY_SECONDS = 1;

/** What the caller can do about a query that ClickHouse gave up, by ClickHouse's number of the reason. */
const REFUSALS: Readonly<Record<string, string>> = {
  // TIMEOUT_EXCEEDED, TOO_SLOW
  159: 'The query took too long. Ask for a shorter range of time.',
  160: 'The query took too long. Ask for a shorter range of time.',
  // MEMORY_LIMIT_EXCEEDED
  241: 'The query needs more memory than it may use. Ask for a shorter range of time or a smaller page.',
  // TOO_MANY_ROWS_OR_BYTES
  396: 'The answer is too large. Ask for a shorter range of time or a smaller page.',
};

/** What tells ClickHouse's logs and its operators whose query it is. */
function namesOf({ settings }: CompiledQuery, caller: QueryCaller | undefined) {
  if (caller === undefined) return {};
  const { endpoint, workspaceId, requestId } = caller;
  return {
    // The id of a request may come from a proxy, which may repeat it; ClickHouse refuses an id that is running already.
    query_id: `${requestId}/${randomUUID()}`,
    log_comment: `${endpoint} workspace ${workspaceId} request ${requestId} reads ${settings.log_comment ?? ''}`,
  };
}

function errorName(err: unknown): string {
  if (err instanceof ClickHouseError) return err.type ?? err.code;
  const { code } = err as { readonly code?: unknown };
  return typeof code === 'string' ? code : 'no answer';
}

function asApiError(err: unknown): unknown {
  const code = err instanceof ClickHouseError ? err.code : undefined;
  const refusal = code === undefined ? undefined : REFUSALS[code];
  if (refusal !== undefined) return new ApiError('internal_server_error', refusal, { cause: err });
  if (!isInfrastructureError(err)) return err;
  return new ApiError('internal_server_error', 'The event store does not answer at the moment. Please try again.', {
    cause: err,
    retryAfterSeconds: RETRY_SECONDS,
  });
}

/**
 * Runs a compiled query and gives its rows as arrays; 64-bit integers are text, times ISO-8601 in UTC.
 *
 * @throws ApiError when ClickHouse gave up or is away; the reason of `signal` when that ended the query
 */
export async function runCompiledQuery<Row extends readonly unknown[]>(
  client: ClickHouseClient,
  compiled: CompiledQuery,
  { signal, caller, onReport }: RunQueryOptions = {},
): Promise<Row[]> {
  const { sql, params, settings } = compiled;
  const { query_id, ...comment } = namesOf(compiled, caller);
  const startedMs = performance.now();
  const durationMs = () => performance.now() - startedMs;
  try {
    let summary: ReadSummary = NOTHING_READ;
    const rows = await client.rows<Row>({
      query: sql,
      parameters: params,
      settings: {
        ...RESULT_LIMITS,
        ...settings,
        ...comment,
        // A read never writes; settings may still be given.
        readonly: '2',
        // A server goes on with a query whose caller has left unless it is told not to, which it hears for reads only.
        cancel_http_readonly_queries_on_client_close: 1,
      },
      queryId: query_id,
      signal,
      onSummary: (told) => {
        summary = told;
      },
    });
    onReport?.({ durationMs: durationMs(), ...summary, error: '' });
    return rows;
  } catch (err) {
    signal?.throwIfAborted();
    onReport?.({ durationMs: durationMs(), ...NOTHING_READ, error: errorName(err) });
    throw asApiError(err);
  }
}
