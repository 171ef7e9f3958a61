import type { FastifyReply } from 'fastify';

/** The client closed the connection before the response was complete. */
export class ClientDisconnectedError extends Error {
  constructor() {
    super('the client disconnected before the response was complete');
    this.name = 'ClientDisconnectedError';
  }
}

/** A signal that aborts when the client disconnects before the response is complete, so that its queries can be cancelled. */
export function disconnectSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) controller.abort(new ClientDisconnectedError());
  });
  return controller.signal;
}
