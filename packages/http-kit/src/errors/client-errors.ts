import type { Socket } from 'node:net';
import { errorBody } from '@waymark/contract';
import { hasLongBody } from '../requests/long-body.js';

const TOO_LARGE = 'HPE_HEADER_OVERFLOW';
const TIMEOUT = 'ERR_HTTP_REQUEST_TIMEOUT';
const SMALL_PIECES = 'SMALL_PIECES';

const MESSAGES: Readonly<Record<string, string>> = {
  [TOO_LARGE]: 'The request headers are too large.',
  [TIMEOUT]: 'The request took too long to arrive.',
  [SMALL_PIECES]: 'The request body comes in too many small pieces.',
};

/** The body of a request comes in more pieces than its bytes allow. */
export class SmallPiecesError extends Error {
  override readonly name = 'SmallPiecesError';
  readonly code = SMALL_PIECES;
}

/** How long the connection stays open after the response. Closed at once, it would lose the response to a client that is still sending. */
const LINGER_MS = 1000;

interface PendingResponse {
  readonly headersSent: boolean;
  readonly req: { readonly complete: boolean };
}

/** What Node keeps on the socket of a connection. */
interface HttpSocket extends Socket {
  /** The response that is sent next. */
  readonly _httpMessage?: PendingResponse | null;
  readonly parser?: { readonly incoming?: { readonly complete: boolean } | null } | null;
}

/**
 * Whether the response to an earlier, pipelined request has yet to be sent on this connection. The client would take anything that is
 * written now for that response.
 */
function hasPendingResponse({ _httpMessage: pending }: HttpSocket): boolean {
  return pending != null && (pending.headersSent || pending.req.complete);
}

/** Whether the request that is arriving was answered before its end. The client would take a second answer for that to its next request. */
function isAnswered({ _httpMessage: pending, parser }: HttpSocket): boolean {
  return pending == null && parser?.incoming?.complete === false;
}

/**
 * Creates the handler that responds to invalid HTTP, oversized headers, bodies in too many small pieces and requests that time out. By default Node responds with 400, 431
 * or 408 without a body. API clients expect an error body with one of the nine statuses of the API, so all of these become 400.
 *
 * @param isApi false for short links: visitors with oversized headers get the usual 431
 */
export function createClientErrorHandler(
  docBase: string,
  isApi: boolean,
): (err: Error & { code?: string }, socket: Socket) => void {
  return (err, socket) => {
    if (err.code === 'ECONNRESET' || socket.destroyed || socket.writableEnded) return;
    if (err.code === TIMEOUT && hasLongBody(socket)) return;
    if (!socket.writable || hasPendingResponse(socket) || isAnswered(socket)) {
      socket.destroy();
      return;
    }
    const message = MESSAGES[err.code ?? ''] ?? 'The request is not valid HTTP.';
    const body = JSON.stringify(errorBody('bad_request', message, docBase));
    const head = [
      `HTTP/1.1 ${!isApi && err.code === TOO_LARGE ? '431 Request Header Fields Too Large' : '400 Bad Request'}`,
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Cache-Control: no-store',
      'X-Content-Type-Options: nosniff',
      'Connection: close',
    ];
    socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
    const linger = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(linger));
  };
}
