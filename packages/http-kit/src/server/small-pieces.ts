import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { boundPieces } from '@waymark/contract';
import { SmallPiecesError } from '../errors/client-errors.js';
import { interceptRequests } from './intercept-requests.js';

/** Shorter bodies are not bounded: a packet for each of their bytes costs more than what is kept of it. */
const LENGTH_MIN = 4096;

/**
 * Bounds the memory and the time that the body of a request takes besides its bytes, whether it is read, discarded after the response, or
 * written to a file. A body in too many small pieces is answered 400, and its connection is closed. Call it for requests that a listener
 * handles without the other listeners of the server.
 */
export function boundRequestPieces(server: Server, request: IncomingMessage, response: ServerResponse): void {
  const { headers, socket } = request;
  const isChunked = headers['transfer-encoding'] !== undefined;
  if (!isChunked && Number(headers['content-length'] ?? 0) < LENGTH_MIN) return;
  boundPieces(request, () => server.emit('clientError', new SmallPiecesError(), socket));
  if (!isChunked) return;
  // After the response Node would discard the unread rest of a body without passing it to the request, where its pieces are counted.
  response.prependOnceListener('finish', () => {
    if (!request.complete) request.resume();
  });
}

/** Calls {@link boundRequestPieces} for the requests of a server before the listeners that it has now. Call it when these are set. */
export function limitPieces(server: Server): void {
  interceptRequests(server, (request, response) => {
    boundRequestPieces(server, request, response);
    return false;
  });
}
