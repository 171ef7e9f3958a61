import type { Socket } from 'node:net';
import { errorBody } from '@waymark/contract';

const TOO_LARGE = 'HPE_HEADER_OVERFLOW';

const MESSAGES: Readonly<Record<string, string>> = {
  [TOO_LARGE]: 'The request headers are too large.',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request took too long to arrive.',
};

/** How long a client that is still sending gets to read the answer; closing at once would reset the connection. */
const LINGER_MS = 1000;

interface PendingAnswer {
  readonly headersSent: boolean;
  readonly req: { readonly complete: boolean };
}

/**
 * Whether the bytes belong to a later request, sent before the answer to an earlier one: what we wrote now would be
 * taken for that answer.
 */
function owesAnswer(socket: Socket & { readonly _httpMessage?: PendingAnswer | null }): boolean {
  const pending = socket._httpMessage;
  return pending != null && (pending.headersSent || pending.req.complete);
}

/**
 * Answers bytes that are no HTTP request, oversized headers and requests that never end. Node would answer 400, 431 or
 * 408 without a body; callers of the API understand our error body and its nine statuses only, so all are 400.
 *
 * @param isApi false for visitors, whose oversized headers are answered 431 as everywhere on the web
 */
export function createClientErrorHandler(
  docBase: string,
  isApi: boolean,
): (err: Error & { code?: string }, socket: Socket) => void {
  return (err, socket) => {
    if (err.code === 'ECONNRESET' || socket.destroyed || socket.writableEnded) return;
    if (!socket.writable || owesAnswer(socket)) {
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
