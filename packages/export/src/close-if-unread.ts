import { onReplyClose } from '@waymark/http-kit';
import type { FastifyReply } from 'fastify';

/**
 * Closes the connection of a response that is sent as fast as it is read, once its client has taken nothing between two checks.
 *
 * @param everyMs time between two checks, in milliseconds. The buffers of the operating system hide what a slow client reads: about a
 *   megabyte has to leave them before more is written.
 */
export function closeIfUnread(reply: FastifyReply, everyMs: number): void {
  const { socket } = reply.request.raw;
  const bytesTaken = () => socket.bytesWritten - socket.writableLength;
  let before = bytesTaken();
  const check = setInterval(() => {
    const now = bytesTaken();
    if (now === before) socket.destroy();
    before = now;
  }, everyMs);
  onReplyClose(reply, () => clearInterval(check));
}
