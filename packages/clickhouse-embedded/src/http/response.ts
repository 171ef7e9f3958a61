import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gzip as gzipCallback } from 'node:zlib';
import { type DatabaseException, httpStatus } from '../engine/database-exception.js';
import type { StatementResult } from '../engine/statement.js';

const gzip = promisify(gzipCallback);
/** The default `http_zlib_compression_level` of a ClickHouse server. */
const GZIP_LEVEL = 3;
/** Smaller bodies are not compressed, because they would not become smaller. */
const COMPRESSED_BYTES_MIN = 512;

const CONTENT_TYPES: readonly (readonly [RegExp, string])[] = [
  [/EachRow/, 'application/x-ndjson; charset=UTF-8'],
  [/^JSON/, 'application/json; charset=UTF-8'],
  [/^(?:TabSeparated|TSV)/, 'text/tab-separated-values; charset=UTF-8'],
  [/^CSV/, 'text/csv; charset=UTF-8'],
];

/** What {@link sendResult} sends. */
export interface StatementResponse {
  readonly result: StatementResult;
  /** Name of the result's format, such as `JSONEachRow`. */
  readonly format: string;
  readonly elapsedNs: bigint;
  /** Whether the statement allows a compressed response (`enable_http_compression`). */
  readonly mayCompress: boolean;
}

/**
 * The value of `X-ClickHouse-Summary`, with numbers as strings like the server's. What was read is left out when the engine does not
 * report it. The rows of a result are not counted.
 */
function summary({ result, elapsedNs }: StatementResponse): string {
  return JSON.stringify({
    ...(result.rowsRead === undefined ? {} : { read_rows: String(result.rowsRead) }),
    ...(result.bytesRead === undefined ? {} : { read_bytes: String(result.bytesRead) }),
    written_rows: String(result.rowsWritten),
    written_bytes: String(result.bytesWritten),
    total_rows_to_read: '0',
    result_rows: String(result.rowsWritten),
    result_bytes: String(result.bytes.length),
    elapsed_ns: String(elapsedNs),
  });
}

/** Sends the result of a statement, with the headers that ClickHouse clients read; compressed if the request and the statement allow it. */
export async function sendResult(
  request: IncomingMessage,
  response: ServerResponse,
  answer: StatementResponse,
): Promise<void> {
  const headers: OutgoingHttpHeaders = {
    'Content-Type': CONTENT_TYPES.find(([pattern]) => pattern.test(answer.format))?.[1] ?? 'text/plain; charset=UTF-8',
    'X-ClickHouse-Format': answer.format,
    'X-ClickHouse-Summary': summary(answer),
  };
  let body = answer.result.bytes;
  const accepted = String(request.headers['accept-encoding'] ?? '');
  if (answer.mayCompress && body.length >= COMPRESSED_BYTES_MIN && /\bgzip\b/.test(accepted)) {
    body = await gzip(body, { level: GZIP_LEVEL });
    headers['Content-Encoding'] = 'gzip';
  }
  headers['Content-Length'] = body.length;
  response.writeHead(200, headers);
  response.end(body);
}

/** Sends an exception as the server does: the code in a header, the status for the code, the message in the body. */
export function sendException(response: ServerResponse, exception: DatabaseException, version: string): void {
  response.setHeader('X-ClickHouse-Exception-Code', String(exception.code));
  sendText(
    response,
    httpStatus(exception),
    `Code: ${exception.code}. DB::Exception: ${exception.message} (version ${version} (chDB))\n`,
  );
}

/** Sends a text that is no result of a statement. */
export function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    'Content-Type': 'text/plain; charset=UTF-8',
    'Content-Length': Buffer.byteLength(text),
  });
  response.end(text);
}
