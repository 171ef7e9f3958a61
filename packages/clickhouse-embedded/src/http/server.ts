import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { asDatabaseException, exceptions } from '../engine/database-exception.js';
import type { Engine } from '../engine/engine.js';
import { namedFormat } from '../engine/sql-text.js';
import { createAuthorization, isFromBrowser } from './authorization.js';
import { readStatement } from './request.js';
import { readBody } from './request-body.js';
import { sendException, sendResult, sendText } from './response.js';

/** Options of {@link createEmbeddedServer}. */
export interface ServerOptions {
  /** Required with every request. */
  readonly password: string;
  /** The version of the engine, for messages of errors. */
  readonly version: string;
  /** Limit on the bytes of a request body, after decompression. */
  readonly requestBytesMax: number;
  /** Default settings of every statement, by name; a request can override them. */
  readonly baseSettings: Readonly<Record<string, string>>;
}

/** The default `http_max_uri_size` of a ClickHouse server: parameters are in URLs. */
const HEADER_BYTES_MAX = 1024 * 1024;
/** After how long this server closes an idle connection. */
const KEEP_ALIVE_MS = 30_000;
/** After how long clients close an idle connection: much earlier, so that the server closes none at the moment when a client begins to use it. */
const CLIENT_KEEP_ALIVE = 'timeout=10';

/** Serves ClickHouse's HTTP interface for one engine. */
export function createEmbeddedServer(engine: Pick<Engine, 'run'>, options: ServerOptions): Server {
  const limits = { maxHeaderSize: HEADER_BYTES_MAX, keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: 0 };
  const isAuthorized = createAuthorization(options.password);
  return createServer(limits, (request, response) => {
    response.setHeader('Keep-Alive', CLIENT_KEEP_ALIVE);
    if (isFromBrowser(request)) refuse(response, 403, 'Browsers are not served.\n');
    else if (!isAuthorized(request)) refuse(response, 401, 'Authentication failed.\n');
    else void answer(engine, options, request, response);
  });
}

/** Refuses a request without reading its body. The response reveals nothing about the server. */
function refuse(response: ServerResponse, status: number, text: string): void {
  response.setHeader('Connection', 'close');
  if (status === 401) response.setHeader('WWW-Authenticate', 'Basic');
  sendText(response, status, text);
}

async function answer(
  engine: Pick<Engine, 'run'>,
  options: ServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  response.setHeader('X-ClickHouse-Server-Display-Name', 'waymark-embedded');
  response.setHeader('X-ClickHouse-Timezone', 'UTC');
  try {
    const url = new URL(request.url ?? '/', 'http://embedded');
    const { method = '' } = request;
    if (url.pathname === '/ping') sendText(response, 200, 'Ok.\n');
    else if (url.pathname !== '/') sendText(response, 404, `There is no handle ${url.pathname}\n`);
    else if (method === 'GET' && url.search === '') sendText(response, 200, 'Ok.\n');
    else if (method === 'GET' || method === 'POST') await runStatement(engine, options, url, request, response);
    else sendText(response, 405, 'GET and POST only.\n');
  } catch (err) {
    if (response.destroyed || response.headersSent) return;
    // The rest of a refused body is not read: the connection is closed after the response.
    if (!request.complete) response.setHeader('Connection', 'close');
    sendException(response, asDatabaseException(err), options.version);
  }
}

async function runStatement(
  engine: Pick<Engine, 'run'>,
  options: ServerOptions,
  url: URL,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const queryId = url.searchParams.get('query_id') || randomUUID();
  response.setHeader('X-ClickHouse-Query-Id', queryId);
  const gone = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) gone.abort(exceptions.cancelled());
  });
  const body = await readBody(request, options.requestBytesMax);
  const { method = 'GET', headers } = request;
  const statement = await readStatement({ method, url, headers, body, baseSettings: options.baseSettings });
  const start = process.hrtime.bigint();
  const result = await engine.run(statement, gone.signal);
  await sendResult(request, response, {
    result,
    format: namedFormat(statement.sql) ?? statement.format,
    elapsedNs: process.hrtime.bigint() - start,
    mayCompress: statement.settings.get('enable_http_compression') !== '0',
  });
}
