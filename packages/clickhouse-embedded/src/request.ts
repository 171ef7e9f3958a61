import type { IncomingMessage } from 'node:http';
import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { DatabaseException } from './database-exception.js';
import type { Statement } from './engine.js';

/** Members of a URL that are addressed to the HTTP interface and are no settings of the engine. */
const INTERFACE_MEMBERS = new Set([
  'query',
  'database',
  'default_format',
  'query_id',
  'user',
  'password',
  'quota_key',
  'stacktrace',
  'role',
  'buffer_size',
  'wait_end_of_query',
  'session_timeout',
  'session_check',
  'close_session',
  'compress',
  'decompress',
]);

/** Settings every statement starts with. `async_insert` is on by default and does not merge in embedded mode. */
const BASE_SETTINGS: readonly (readonly [string, string])[] = [['async_insert', '0']];

export interface StatementRequest {
  readonly statement: Statement;
  readonly queryId: string | undefined;
}

/** The statement a request asks for. Throws `DatabaseException` for what this server does not do. */
export function readStatement(
  method: string,
  url: URL,
  headers: IncomingMessage['headers'],
  body: Buffer,
): StatementRequest {
  const members = url.searchParams;
  if (members.get('session_id')) {
    throw new DatabaseException(
      48,
      'Sessions (session_id) are not supported by the embedded server. (NOT_IMPLEMENTED)',
    );
  }
  for (const name of ['compress', 'decompress']) {
    if (members.get(name) === '1') {
      throw new DatabaseException(48, `${name}=1 is not supported: use HTTP compression. (NOT_IMPLEMENTED)`);
    }
  }
  const settings = new Map(BASE_SETTINGS);
  const parameters = new Map<string, string>();
  for (const [name, value] of members) {
    if (name.startsWith('param_')) parameters.set(name.slice('param_'.length), value);
    else if (!INTERFACE_MEMBERS.has(name)) settings.set(name, value);
  }
  // As on the server, GET cannot change data.
  if (method === 'GET' && !settings.has('readonly')) settings.set('readonly', '2');

  const format = members.get('default_format') ?? header(headers['x-clickhouse-format']) ?? 'TabSeparated';
  const database = members.get('database') ?? header(headers['x-clickhouse-database']);
  const query = members.get('query') ?? '';
  // The server reads the text of the URL, a line feed, then the body.
  const isSplit = query !== '' && body.length > 0;
  const sql = query === '' ? body.toString('utf8') : isSplit ? `${query}\n` : query;
  if (sql.trim() === '') throw new DatabaseException(62, 'Syntax error: Empty query. (SYNTAX_ERROR)');
  return {
    statement: {
      sql,
      data: isSplit ? body : Buffer.alloc(0),
      database: database || undefined,
      format,
      settings,
      parameters,
    },
    queryId: members.get('query_id') || header(headers['x-clickhouse-query-id']) || undefined,
  };
}

function header(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

function decompressor(encoding: string): Transform | undefined {
  if (encoding === 'gzip' || encoding === 'x-gzip') return createGunzip();
  if (encoding === 'deflate') return createInflate();
  if (encoding === 'br') return createBrotliDecompress();
  return undefined;
}

/** The whole body, decompressed. A body over the limit is refused before it is held in memory. */
export async function readBody(request: IncomingMessage, bytesMax: number): Promise<Buffer> {
  const encoding = request.headers['content-encoding']?.trim().toLowerCase() ?? '';
  const isPlain = encoding === '' || encoding === 'identity';
  const transform = isPlain ? undefined : decompressor(encoding);
  if (!isPlain && transform === undefined) {
    throw new DatabaseException(89, `Unknown compression method: ${encoding}. (UNKNOWN_COMPRESSION_METHOD)`);
  }
  const source =
    transform === undefined ? request : request.on('error', (err) => transform.destroy(err)).pipe(transform);
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of source) {
    length += (chunk as Buffer).length;
    if (length > bytesMax) {
      throw new DatabaseException(307, `Limit for bytes of a request exceeded: ${bytesMax}. (TOO_MANY_BYTES)`);
    }
    chunks.push(chunk as Buffer);
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, length);
}
