import type { Socket } from 'node:net';
import { errorBody } from '@waymark/contract';

const MESSAGES: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: 'The request headers are too large.',
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
 * 408 without a body; callers understand our error body and the nine statuses of the API only, so all are 400.
 */
export function createClientErrorHandler(docBase: string): (err: Error & { code?: string }, socket: Socket) => void {
  return (err, socket) => {
    if (err.code === 'ECONNRESET' || socket.destroyed || socket.writableEnded) return;
    if (!socket.writable || owesAnswer(socket)) {
      socket.destroy();
      return;
    }
    const message = MESSAGES[err.code ?? ''] ?? 'The request is not valid HTTP.';
    const body = JSON.stringify(errorBody('bad_request', message, docBase));
    const head = [
      'HTTP/1.1 400 Bad Request',
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Connection: close',
    ];
    socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
    const linger = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(linger));
  };
}
