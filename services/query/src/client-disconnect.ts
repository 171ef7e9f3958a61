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
  const { raw } = reply;
  const controller = new AbortController();
  const onClose = () => {
    if (!raw.writableFinished) controller.abort(new ClientDisconnectedError());
  };
  // A client may disconnect while its key is looked up: the event has passed then.
  if (raw.closed) onClose();
  else raw.once('close', onClose);
  return controller.signal;
}
