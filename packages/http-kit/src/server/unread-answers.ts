import { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** Smaller responses are only limited by `closeConnections`: a client could hold as much memory by a connection in other ways. */
const LARGE_BYTES = 1_000_000;
/** A client that reads a large response more slowly than this is disconnected. */
const BYTES_PER_MS_MIN = 250;

/**
 * Closes the connections of clients that read large responses too slowly, because these stay in memory until they are read: after `stalledMs`
 * plus a second for each 250 kB. Streams are not affected, because they send no faster than the client reads.
 *
 * @param stalledMs the time that every client has, in milliseconds
 */
export function dropUnreadAnswers(app: Pick<FastifyInstance, 'addHook'>, stalledMs: number): void {
  app.addHook('onSend', (_request, reply, payload, done) => {
    const bytes = typeof payload === 'string' || Buffer.isBuffer(payload) ? payload.length : 0;
    const { socket } = reply.raw;
    if (bytes > LARGE_BYTES && socket instanceof Socket) {
      const tooLate = setTimeout(() => socket.destroy(), stalledMs + bytes / BYTES_PER_MS_MIN);
      reply.raw.once('close', () => clearTimeout(tooLate));
    }
    done();
  });
}
