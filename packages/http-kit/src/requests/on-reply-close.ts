import type { FastifyReply } from 'fastify';

/**
 * Calls `listener` once, when the response has been sent or the client has left, or at once if either has happened. The end of the
 * connection counts too: a response that waits for an earlier one on the same connection never closes when the client leaves.
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
