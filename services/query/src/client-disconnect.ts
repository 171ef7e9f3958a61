import type { FastifyReply } from 'fastify';

/** The client closed the connection before the response was complete. */
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

function createSignal({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController();
  const onClose = () => {
    if (!raw.writableFinished) controller.abort(new ClientDisconnectedError());
  };
  // A client may disconnect while its key is looked up: the event has passed then.
  if (raw.closed) onClose();
  else raw.once('close', onClose);
  return controller.signal;
}
