import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { isSentInParts } from '../requests/send-json.js';

/** How long an idle keep-alive connection stays open after shutdown starts: its next request may be in flight. */
const IDLE_GRACE_MS = 100;
/** How long a connection may transfer nothing after shutdown starts. */
const INACTIVE_MS_MAX = 1000;
/** How long a slow client may keep sending its request or reading its response after shutdown starts. */
const CLOSE_DEADLINE_MS = 10_000;

type OpenRequests = Map<IncomingMessage, ServerResponse>;

/** The open requests of each connection: those whose responses are not completely sent; visits whose responses are not produced yet. */
const requestsOf = new WeakMap<Socket, OpenRequests>();

/**
 * Keeps the connection of a request open until {@link removeOpenRequest}, see {@link closeConnections}. Call it for requests that a listener
 * handles without the other listeners of the server.
 */
export function addOpenRequest(request: IncomingMessage, response: ServerResponse): void {
  requestsOf.get(request.socket)?.set(request, response);
}

/** Call it when the response to the request has been produced, or cannot be. */
export function removeOpenRequest(request: IncomingMessage): void {
  requestsOf.get(request.socket)?.delete(request);
}

/** The open connections of a server, each with its open requests. */
function trackConnections(server: Server): ReadonlyMap<Socket, ReadonlyMap<IncomingMessage, ServerResponse>> {
  const connections = new Map<Socket, OpenRequests>();
  server.on('connection', (socket: Socket) => {
    const requests: OpenRequests = new Map();
    requestsOf.set(socket, requests);
    connections.set(socket, requests);
    // Each request that waits on the connection listens for its end, and Node warns of more than ten listeners.
    socket.setMaxListeners(0);
    socket.once('close', () => connections.delete(socket));
  });
  server.on('request', (request, response) => {
    addOpenRequest(request, response);
    response.once('close', () => removeOpenRequest(request));
  });
  return connections;
}

/**
 * Closes connections that transfer nothing for `stalledMs` while all their responses have been produced: the client does not read them, and
 * by default Node would keep them and the connection for ever.
 *
 * Makes `app.close()` finish without dropping responses, and without waiting for clients. By default Node waits for ever for clients that
 * send no request or only a part of one, or do not read the response, and yet resets connections of clients that are still reading a long
 * response. With this, after shutdown starts, idle connections close after 100 ms, inactive ones after a second and all others after ten,
 * except those whose request is still being processed. A response that is produced while it is sent (`jsonItems`) counts as one that its client
 * is reading.
 */
export function closeConnections(app: Pick<FastifyInstance, 'server' | 'addHook'>, stalledMs: number): void {
  const { server } = app;
  const connections = trackConnections(server);
  const isInUse = (socket: Socket) =>
    [...(connections.get(socket) ?? [])].some(([, response]) => !response.writableEnded);
  server.timeout = stalledMs;
  server.on('timeout', (socket) => {
    if (!isInUse(socket)) socket.destroy();
  });
  const inProgress = (socket: Socket) =>
    [...(connections.get(socket) ?? [])].filter(([request, response]) => request.complete && !response.writableEnded);
  const closeIdle = () => {
    for (const [socket, requests] of connections) {
      if (socket.bytesWritten > 0 && socket.writableLength === 0 && requests.size === 0) socket.destroy();
    }
  };
  // Replaced, because Node calls it on close and resets connections whose response is written but not yet delivered.
  server.closeIdleConnections = () => {};
  app.addHook('preClose', (done) => {
    server.on('timeout', (socket) => {
      if (inProgress(socket).length === 0) socket.destroy();
    });
    server.timeout = INACTIVE_MS_MAX;
    server.keepAliveTimeout = INACTIVE_MS_MAX;
    for (const socket of connections.keys()) socket.setTimeout(INACTIVE_MS_MAX);
    // A busy process has not read yet what arrived meanwhile. It does so before the immediate, and a connection with a request is not idle.
    setTimeout(() => setImmediate(closeIdle), IDLE_GRACE_MS);
    const closeReaders = () => {
      for (const socket of connections.keys()) {
        if (inProgress(socket).every(([, response]) => isSentInParts(response))) socket.destroy();
      }
    };
    setTimeout(() => {
      closeReaders();
      // Responses that were still being processed.
      setInterval(closeReaders, INACTIVE_MS_MAX).unref();
    }, CLOSE_DEADLINE_MS).unref();
    done();
  });
}
