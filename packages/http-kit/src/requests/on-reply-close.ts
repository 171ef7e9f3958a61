import type { FastifyReply } from 'fastify';

/**
 * Calls `listener` once, when the response has been sent or the client has disconnected; immediately if either has happened already. It also
 * listens to the connection, because a response that waits behind an earlier one of the same connection emits no `close` of its own.
 */
export function onReplyClose({ raw, request }: FastifyReply, listener: () => void): void {
  const { socket } = request.raw;
  const onClose = () => {
    raw.off('close', onClose);
    socket.off('close', onClose);
    listener();
  };
  if (raw.closed || socket.destroyed) {
    listener();
    return;
  }
  raw.once('close', onClose);
  socket.once('close', onClose);
}

/** The reason of {@link disconnectSignal}: the client closed the connection before the response was complete. */
export class ClientDisconnectedError extends Error {
  constructor() {
    super('the client disconnected before the response was complete');
    this.name = 'ClientDisconnectedError';
  }
}

const signals = new WeakMap<FastifyReply, AbortSignal>();

/**
 * A signal that aborts when the client disconnects before the response is complete, so that its queries can be cancelled. Each reply
 * has one.
 */
export function disconnectSignal(reply: FastifyReply): AbortSignal {
  const existing = signals.get(reply);
  if (existing !== undefined) return existing;
  const signal = createSignal(reply);
  signals.set(reply, signal);
  return signal;
}

function createSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  // This calls the listener at once if the client has left already, for example while its API key was looked up.
  onReplyClose(reply, () => {
    if (!reply.raw.writableFinished) controller.abort(new ClientDisconnectedError());
  });
  return controller.signal;
}
