import type { Socket } from 'node:net';
import { errorBody } from '@waymark/contract';

const MESSAGES: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: 'The request headers are too large.',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request took too long to arrive.',
};

/** Whether part of an answer is on the wire already, where another answer would corrupt it. */
function isAnswering(socket: Socket & { readonly _httpMessage?: { readonly headersSent: boolean } | null }): boolean {
  return socket._httpMessage?.headersSent === true;
}

/**
 * Answers bytes that are no HTTP request, oversized headers and requests that never end. Node would answer 400, 431 or
 * 408 without a body; callers understand our error body and the nine statuses of the API only, so all are 400.
 */
export function createClientErrorHandler(docBase: string): (err: Error & { code?: string }, socket: Socket) => void {
  return (err, socket) => {
    if (err.code === 'ECONNRESET' || socket.destroyed) return;
    if (!socket.writable || isAnswering(socket)) {
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
    socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
  };
}
