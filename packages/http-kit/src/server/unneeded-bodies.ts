import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * Discards the body of a request that does not need it, and waits until it has arrived where the connection closes after the response: closed
 * while a client is still sending, it would lose the response. The time limit of requests ends a body that does not end.
 */
export async function discardBody(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (response.shouldKeepAlive || request.readableEnded || request.destroyed) return;
  await new Promise<void>((resolve) => {
    request.once('end', resolve).once('close', resolve).resume();
  });
}
