import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { interceptRequests } from './intercept-requests.js';

/**
 * Maximum number of requests of a connection that wait for the responses to earlier ones. Browsers and proxies send none before they have
 * the response.
 */
const WAITING_MAX = 50;

/** How many requests of a connection wait. */
const waiting = new WeakMap<Socket, number>();

/**
 * Closes the connection of a request if its client has sent too many without waiting for the responses. Node processes all requests of a
 * packet in one turn, and keeps their responses until the client reads them: a packet of 64 kB would block the process for a second, and take
 * many times its size in memory.
 *
 * @returns whether the connection is closed, for this or another reason, so that the request must not be processed
 */
export function closeIfPipelinedTooDeep(request: IncomingMessage, response: ServerResponse): boolean {
  const { socket } = request;
  // After the last response, such as one to a body in too many small pieces, the connection stays open for a moment.
  if (socket.writableEnded) return true;
  // A response gets its socket once all earlier ones of the connection are sent.
  if (response.socket !== null) return false;
  const count = (waiting.get(socket) ?? 0) + 1;
  if (count > WAITING_MAX) {
    socket.destroy();
    return true;
  }
  waiting.set(socket, count);
  response.once('close', () => waiting.set(socket, (waiting.get(socket) ?? 1) - 1));
  return false;
}

/** Passes requests to the listeners of a server unless {@link closeIfPipelinedTooDeep} closes their connection. Call it when these are set. */
export function limitPipelining(server: Server): void {
  interceptRequests(server, closeIfPipelinedTooDeep);
}
