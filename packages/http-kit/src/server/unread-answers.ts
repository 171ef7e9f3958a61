import { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** Smaller answers fit into what one connection may take anyway. */
const LARGE_BYTES = 1_000_000;
/** The slowest reader that gets a large answer. */
const BYTES_PER_MS_MIN = 250;

/**
 * Closes the connections of clients that do not read large answers, which stay in memory until they are read: after `stalledMs` without
 * a byte read, or after that plus a second for each 250 kB. Streams send as fast as they are read and are not affected.
 *
 * @param stalledMs how long a client may read nothing, in milliseconds
 */
export function dropUnreadAnswers(app: Pick<FastifyInstance, 'server' | 'addHook'>, stalledMs: number): void {
  app.addHook('onSend', (_request, reply, payload, done) => {
    const bytes = typeof payload === 'string' || Buffer.isBuffer(payload) ? payload.length : 0;
    const { socket } = reply.raw;
    if (bytes > LARGE_BYTES && socket instanceof Socket) {
      // Node closes the connection then, and sets another timeout when the answer is sent. During shutdown the server has a shorter one.
      socket.setTimeout(Math.min(stalledMs, app.server.timeout || stalledMs));
      const tooLate = setTimeout(() => socket.destroy(), stalledMs + bytes / BYTES_PER_MS_MIN);
      reply.raw.once('close', () => clearTimeout(tooLate));
    }
    done();
  });
}
