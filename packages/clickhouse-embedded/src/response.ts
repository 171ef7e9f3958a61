import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gzip as gzipCallback } from 'node:zlib';
import { type DatabaseException, httpStatus } from './database-exception.js';
import type { StatementResult } from './engine.js';

const gzip = promisify(gzipCallback);
/** Below this a compressed body is no smaller, and slower. */
const COMPRESSED_BYTES_MIN = 512;

const CONTENT_TYPES: readonly (readonly [RegExp, string])[] = [
  [/^JSON(Compact)?(Strings)?(Columns)?(WithNames.*)?$/, 'application/json; charset=UTF-8'],
  [/EachRow/, 'application/x-ndjson; charset=UTF-8'],
  [/^(TabSeparated|TSV)/, 'text/tab-separated-values; charset=UTF-8'],
  [/^CSV/, 'text/csv; charset=UTF-8; header=absent'],
];

function contentType(format: string): string {
  return CONTENT_TYPES.find(([pattern]) => pattern.test(format))?.[1] ?? 'text/plain; charset=UTF-8';
}

export interface Answer {
  readonly result: StatementResult;
  readonly format: string;
  readonly elapsedNs: bigint;
}

/** The counts that `X-ClickHouse-Summary` carries: texts, as the server writes them. */
function summary({ result, elapsedNs }: Answer): string {
  return JSON.stringify({
    read_rows: String(result.rowsRead),
    read_bytes: String(result.bytesRead),
    written_rows: String(result.rowsWritten),
    written_bytes: String(result.bytesWritten),
    total_rows_to_read: '0',
    result_rows: String(result.rowsWritten),
    result_bytes: String(result.bytes.length),
    elapsed_ns: String(elapsedNs),
  });
}

/** Sends the answer of a statement, compressed where the request allows and asks for it. */
export async function sendAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  answer: Answer,
  mayCompress: boolean,
): Promise<void> {
  const headers: OutgoingHttpHeaders = {
    'Content-Type': contentType(answer.format),
    'X-ClickHouse-Format': answer.format,
    'X-ClickHouse-Summary': summary(answer),
  };
  let body = answer.result.bytes;
  const accepts = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''));
  if (mayCompress && accepts && body.length >= COMPRESSED_BYTES_MIN) {
    body = await gzip(body, { level: 3 });
    headers['Content-Encoding'] = 'gzip';
  }
  headers['Content-Length'] = body.length;
  response.writeHead(200, headers);
  response.end(body);
}

/** Sends an exception the way the server does: code in a header, status by code, text in the body. */
export function sendException(response: ServerResponse, exception: DatabaseException, version: string): void {
  const text = `Code: ${exception.code}. DB::Exception: ${exception.message} (version ${version} (chDB))\n`;
  response.writeHead(httpStatus(exception), {
    'Content-Type': 'text/plain; charset=UTF-8',
    'X-ClickHouse-Exception-Code': String(exception.code),
    'Content-Length': Buffer.byteLength(text),
  });
  response.end(text);
}
