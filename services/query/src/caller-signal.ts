import type { FastifyReply } from 'fastify';

/** The caller hung up before the answer was there. */
export class CallerGoneError extends Error {
  constructor() {
    super('the caller hung up before its answer was there');
    this.name = 'CallerGoneError';
  }
}

/** Fires when the connection ends before the answer does: nobody waits for the work any more. */
export function callerSignal(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) gone.abort(new CallerGoneError());
  });
  return gone.signal;
}
