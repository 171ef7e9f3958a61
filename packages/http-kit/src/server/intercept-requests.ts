import type { IncomingMessage, Server, ServerResponse } from 'node:http';

type RequestHandler<Result> = (request: IncomingMessage, response: ServerResponse) => Result;

/**
 * Passes every request of a server to `handle` before the listeners that it has now. Call it when these are set.
 *
 * @param handle returns whether it has dealt with the request, so that the listeners must not get it
 */
export function interceptRequests(server: Server, handle: RequestHandler<boolean>): void {
  const listeners = server.listeners('request') as RequestHandler<void>[];
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    if (handle(request, response)) return;
    for (const listener of listeners) listener.call(server, request, response);
  });
}
