import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { asDatabaseException, DatabaseException } from './database-exception.js';
import type { Engine } from './engine.js';
import { readBody, readStatement } from './request.js';
import { sendAnswer, sendException } from './response.js';
import { namedFormat } from './sql-text.js';

export interface ServerOptions {
  readonly version: string;
  /** A request body over this is refused, whatever it decompresses to. */
  readonly requestBytesMax: number;
}

const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d+){3}|\[::1\])(?::\d+)?$/i;

/** ClickHouse's HTTP interface over one engine. */
export function createEmbeddedServer(engine: Engine, options: ServerOptions): Server {
  const server = createServer({ maxHeaderSize: 1024 * 1024, requestTimeout: 0, keepAliveTimeout: 30_000 });
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    void answer(engine, options, request, response);
  });
  return server;
}

async function answer(
  engine: Engine,
  options: ServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  response.on('close', () => gone.abort(new DatabaseException(394, 'Query was cancelled. (QUERY_WAS_CANCELLED)')));
  response.setHeader('X-ClickHouse-Server-Display-Name', 'waymark-embedded');
  response.setHeader('X-ClickHouse-Timezone', 'UTC');
  try {
    if (isFromBrowser(request)) {
      sendText(response, 403, 'Only programs of this machine may ask this server.\n');
      return;
    }
    const url = new URL(request.url ?? '/', 'http://embedded');
    if (url.pathname === '/ping' || url.pathname === '/replicas_status') sendText(response, 200, 'Ok.\n');
    else if (url.pathname !== '/') sendText(response, 404, `There is no handle ${url.pathname}\n`);
    else if (request.method === 'GET' && !url.searchParams.has('query')) sendText(response, 200, 'Ok.\n');
    else if (request.method === 'GET' || request.method === 'POST') {
      await runStatement(engine, options, request, response, url, gone.signal);
    } else sendText(response, 405, 'GET and POST only.\n');
  } catch (err) {
    if (!response.headersSent && !response.destroyed)
      sendException(response, asDatabaseException(err), options.version);
    // What is left of a refused body is not read: the connection ends with the answer.
    if (!request.complete) request.socket.destroySoon();
  }
}

async function runStatement(
  engine: Engine,
  options: ServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
  signal: AbortSignal,
): Promise<void> {
  const body = await readBody(request, options.requestBytesMax);
  const { statement, queryId } = readStatement(request.method ?? 'GET', url, request.headers, body);
  response.setHeader('X-ClickHouse-Query-Id', queryId ?? randomUUID());
  const start = process.hrtime.bigint();
  const result = await engine.run(statement, signal);
  const format = namedFormat(statement.sql) ?? statement.format;
  const mayCompress = statement.settings.get('enable_http_compression') === '1';
  await sendAnswer(request, response, { result, format, elapsedNs: process.hrtime.bigint() - start }, mayCompress);
}

/**
 * The server knows no users, so a page in a browser of this machine must not reach it: neither by a plain form (browsers add
 * `Origin` or `Sec-Fetch-Site`) nor under a name of its own that resolves to loopback.
 */
function isFromBrowser({ headers }: IncomingMessage): boolean {
  return (
    headers.origin !== undefined || headers['sec-fetch-site'] !== undefined || !LOOPBACK_HOST.test(headers.host ?? '')
  );
}

function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    'Content-Type': 'text/plain; charset=UTF-8',
    'Content-Length': Buffer.byteLength(text),
  });
  response.end(text);
}
