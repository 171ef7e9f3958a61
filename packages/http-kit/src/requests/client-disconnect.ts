import type { FastifyReply } from 'fastify';
import { onReplyClose } from './on-reply-close.js';

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
