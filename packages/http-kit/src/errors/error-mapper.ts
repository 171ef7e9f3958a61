import { ApiError, type ErrorCode, errorBody } from '@waymark/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { workspaceOf } from '../requests/request-logger.js';

/** Public errors for requests that Fastify itself rejects. Any other Fastify error is a bug of ours: 500. */
const FRAMEWORK_ERRORS: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['bad_request', 'The request body is too large.'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['bad_request', 'The Content-Type of a request body must be application/json.'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['bad_request', 'The request body does not have the length it declares.'],
  FST_ERR_CTP_EMPTY_JSON_BODY: ['bad_request', 'The request body is empty.'],
  FST_ERR_CTP_INVALID_JSON_BODY: [
    'bad_request',
    'The request body is not valid JSON, or has a member __proto__ or constructor.prototype.',
  ],
  FST_ERR_BAD_URL: ['bad_request', 'The URL is malformed.'],
  FST_ERR_MAX_PARAM_LENGTH: ['not_found', 'The requested resource was not found.'],
  // Fastify throws this for the method QUERY before it looks up a route; no route has that method.
  FST_ERR_ROUTE_MISSING_CONTENT_TYPE: ['not_found', 'The requested resource was not found.'],
  FST_ERR_NOT_FOUND: ['not_found', 'The requested resource was not found.'],
};

/** Whether the client has disconnected before the body of its request was complete. */
function isAbortedBody(err: { readonly code?: unknown; readonly statusCode?: unknown }): boolean {
  return err.code === 'ECONNRESET' && err.statusCode === 400;
}

const STORE_UNAVAILABLE = 'A store does not answer at the moment. Please try again.';
const RETRY_SOON = { retryAfterSeconds: 1 };
const SOCKET_CODES: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_SOCKET',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
]);

/** Errors of ioredis, which have no code: the command was not sent, or not answered. */
const REDIS_AWAY = new RegExp(
  [
    "^Stream isn't writeable and enableOfflineQueue options is false$",
    '^Connection is closed\\.$',
    '^Command aborted due to connection close$',
    '^Command timed out$',
    '^Reached the max retries per request limit ',
  ].join('|'),
);
/** Replies of a Redis that starts, or that is not the master at the moment. */
const REDIS_NOT_READY = /^(?:LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|UNBLOCKED) /;

/** Whether Redis or ClickHouse could not be reached, or does not serve yet. That is temporary, so the client should retry. */
export function isStoreUnavailable(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  // `AbortSignal.timeout` throws a TimeoutError.
  return (
    ('code' in thrown && SOCKET_CODES.has(thrown.code)) ||
    // With another code, such as ENOENT: the unix socket of a store that has stopped does not exist.
    ('syscall' in thrown && thrown.syscall === 'connect') ||
    thrown.name === 'TimeoutError' ||
    REDIS_AWAY.test(thrown.message) ||
    (thrown.name === 'ReplyError' && REDIS_NOT_READY.test(thrown.message)) ||
    isStoreUnavailable(thrown.cause)
  );
}

/** The public error for anything thrown. Unexpected errors become a 500 whose message contains only the request id. */
function toApiError(thrown: unknown, requestId: string): ApiError {
  if (thrown instanceof ApiError) return thrown;
  if (typeof thrown === 'object' && thrown !== null) {
    const err = thrown as { readonly code?: unknown; readonly statusCode?: unknown };
    const known = typeof err.code === 'string' ? FRAMEWORK_ERRORS[err.code] : undefined;
    if (known !== undefined) return new ApiError(known[0], known[1], { cause: thrown });
    if (isAbortedBody(err)) return new ApiError('bad_request', 'The request ended early.', { cause: thrown });
  }
  if (isStoreUnavailable(thrown)) {
    return new ApiError('internal_server_error', STORE_UNAVAILABLE, { cause: thrown, ...RETRY_SOON });
  }
  const message = `Something went wrong on our side. Please quote request ${requestId} when reporting it.`;
  return new ApiError('internal_server_error', message, { cause: thrown });
}

/** How often failures of an outage are logged. A line for each request would fill the disk, which the stores may be on too. */
const OUTAGE_LINES_EVERY_MS = 1000;

/** For one server: when it last logged the failure of a request that may be retried, and how many have failed since then. */
interface OutageLines {
  loggedAtMs: number;
  unlogged: number;
}
const outageLines = new WeakMap<object, OutageLines>();

/** If a failure is due to be logged, how many were not logged since the last line; undefined if this one is not logged either. */
function othersIfDue({ server }: FastifyRequest): number | undefined {
  const lines = outageLines.get(server.server) ?? { loggedAtMs: Number.NEGATIVE_INFINITY, unlogged: 0 };
  outageLines.set(server.server, lines);
  const nowMs = performance.now();
  if (nowMs - lines.loggedAtMs < OUTAGE_LINES_EVERY_MS) {
    lines.unlogged += 1;
    return undefined;
  }
  const { unlogged } = lines;
  Object.assign(lines, { loggedAtMs: nowMs, unlogged: 0 });
  return unlogged;
}

function logError(request: FastifyRequest, error: ApiError): void {
  const workspaceId = workspaceOf(request);
  const line = { err: error.cause ?? error, context: error.context, status: error.status, workspaceId };
  if (error.status < 500) request.log.debug(line, 'request refused');
  else if (error.retryAfterSeconds === undefined) request.log.error(line, 'request failed');
  else {
    const othersFailed = othersIfDue(request);
    if (othersFailed !== undefined) request.log.error({ ...line, othersFailed }, 'request failed');
  }
}

/**
 * Fastify closes the connection after a refused body, and so loses the response to a client that is still sending it. With this header Node
 * discards the rest of the body instead, for as long as a request may take to arrive. While the app closes, the header is on the raw response.
 */
function keepConnection(reply: FastifyReply): void {
  const { raw } = reply;
  if (raw.shouldKeepAlive && !raw.hasHeader('connection') && reply.hasHeader('connection')) {
    reply.header('connection', 'keep-alive');
  }
}

/**
 * Headers of a body that an error response replaces: a file may fail after its headers were set and before they were sent. Node.js throws for
 * a `Trailer` header beside the length of the error's body, which would end the process.
 */
const BODY_HEADERS = [
  'accept-ranges',
  'content-disposition',
  'content-encoding',
  'content-range',
  'etag',
  'last-modified',
  'trailer',
];

/** Sends an error response and logs the error. The body is sent as text, because the response schemas of routes would reject it. */
export function sendError(
  docBase: string,
  thrown: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const error = toApiError(thrown, request.id);
  logError(request, error);
  if (error.retryAfterSeconds !== undefined) {
    reply.header('retry-after', String(Math.max(1, Math.ceil(error.retryAfterSeconds))));
  }
  keepConnection(reply);
  for (const name of BODY_HEADERS) {
    reply.removeHeader(name);
    // Fastify has copied the headers there when it began to send the body.
    if (!reply.raw.headersSent) reply.raw.removeHeader(name);
  }
  return reply
    .code(error.status)
    .headers(error.headers)
    .header('content-type', 'application/json; charset=utf-8')
    .send(JSON.stringify(errorBody(error.code, error.message, docBase)));
}
