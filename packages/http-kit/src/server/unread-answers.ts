import { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** Smaller responses are not limited: a client could hold as much memory by a connection in other ways. */
const LARGE_BYTES = 1_000_000;
/** A client that reads a large response more slowly than this is disconnected. */
const BYTES_PER_MS_MIN = 250;

/**
 * Closes the connections of clients that do not read large responses, which stay in memory until they are read: after `stalledMs` without
 * a byte read, and in any case after `stalledMs` plus a second for each 250 kB. Streams are not affected, because they send no faster than
 * the client reads.
 *
 * @param stalledMs how long a client may read nothing, in milliseconds
 */
export function dropUnreadAnswers(app: Pick<FastifyInstance, 'server' | 'addHook'>, stalledMs: number): void {
  app.addHook('onSend', (_request, reply, payload, done) => {
    const bytes = typeof payload === 'string' || Buffer.isBuffer(payload) ? payload.length : 0;
    const { socket } = reply.raw;
    if (bytes > LARGE_BYTES && socket instanceof Socket) {
      // Node closes the connection at this timeout, and sets another one when the response is sent. During shutdown the timeout is shorter.
      socket.setTimeout(Math.min(stalledMs, app.server.timeout || stalledMs));
      const tooLate = setTimeout(() => socket.destroy(), stalledMs + bytes / BYTES_PER_MS_MIN);
      reply.raw.once('close', () => clearTimeout(tooLate));
    }
    done();
  });
}
