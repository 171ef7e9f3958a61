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
