import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { onReplyClose } from './on-reply-close.js';

/** What nginx logs for a request whose client disconnected before the answer began. It is in logs and metrics only, and is never sent. */
const CLIENT_DISCONNECTED = 499;

/** The status that a request was answered with; 499 if its client disconnected before. */
export function answeredStatus({ raw }: FastifyReply): number {
  return raw.headersSent ? raw.statusCode : CLIENT_DISCONNECTED;
}

/**
 * Calls `listener` once for each request of an app: after the answer was sent, or when the client disconnected. The hook `onResponse` alone
 * is not called for a client that disconnects before the answer begins, and from Node 24 on not for one that disconnects before its end.
 */
export function afterAnswer(
  app: Pick<FastifyInstance, 'addHook'>,
  listener: (request: FastifyRequest, reply: FastifyReply) => void,
): void {
  const ended = new WeakSet<FastifyRequest>();
  const end = (request: FastifyRequest, reply: FastifyReply) => {
    if (ended.has(request)) return;
    ended.add(request);
    listener(request, reply);
  };
  app.addHook('onRequest', (request, reply, done) => {
    onReplyClose(reply, () => end(request, reply));
    done();
  });
  // For requests that a hook before this one refuses.
  app.addHook('onResponse', (request, reply, done) => {
    end(request, reply);
    done();
  });
}
