import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** For how long a connection between two requests stays open once its server closes: the next may be on its way. */
const IDLE_MS = 100;
/** For how long a connection may move no byte once its server closes. */
const QUIET_MS_MAX = 1000;
/** For how long a slow client may go on sending its request or reading its answer once its server closes. */
const SLOW_MS_MAX = 10_000;

/** The open connections, each with its requests that are not answered to the last byte. */
function trackConnections(server: Server): ReadonlyMap<Socket, ReadonlyMap<IncomingMessage, ServerResponse>> {
  const connections = new Map<Socket, Map<IncomingMessage, ServerResponse>>();
  server.on('connection', (socket: Socket) => {
    connections.set(socket, new Map());
    socket.once('close', () => connections.delete(socket));
  });
  server.on('request', (request, response) => {
    const requests = connections.get(request.socket);
    requests?.set(request, response);
    response.once('close', () => requests?.delete(request));
  });
  return connections;
}

/**
 * Lets `app.close()` end in time and cut off nobody who can still be answered. Node alone waits without end for a client that
 * has not asked, has not sent its request whole or does not read its answer, but resets the one that is reading a long answer. Here,
 * from the close on, a connection between two requests is closed soon, one that is quiet for a second is cut off, and each after ten,
 * except where the service still works on a request.
 */
export function closeConnections(app: Pick<FastifyInstance, 'server' | 'addHook'>): void {
  const { server } = app;
  const connections = trackConnections(server);
  const isWorkedOn = (socket: Socket) =>
    [...(connections.get(socket) ?? [])].some(([request, response]) => request.complete && !response.writableEnded);
  const cutOff = (socket: Socket) => {
    if (!isWorkedOn(socket)) socket.destroy();
  };
  const closeIdle = () => {
    for (const [socket, requests] of connections) if (socket.bytesWritten > 0 && requests.size === 0) socket.destroy();
  };
  // Called by Node's own close. Its own takes an answer that was handed over for one that has arrived, and comes at once.
  server.closeIdleConnections = () => {};
  app.addHook('preClose', (done) => {
    server.on('timeout', cutOff);
    server.timeout = QUIET_MS_MAX;
    server.keepAliveTimeout = QUIET_MS_MAX;
    for (const socket of connections.keys()) socket.setTimeout(QUIET_MS_MAX);
    setTimeout(closeIdle, IDLE_MS);
    setTimeout(() => {
      for (const socket of connections.keys()) cutOff(socket);
    }, SLOW_MS_MAX).unref();
    done();
  });
}
