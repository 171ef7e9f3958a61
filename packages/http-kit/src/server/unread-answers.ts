import { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { isInParts } from '../requests/send-json.js';
import type { UnsentAnswers } from './unsent-answers.js';

/** Smaller responses are not counted, and only limited by `closeConnections`: a client could hold as much memory by a connection in other ways. */
const LARGE_BYTES = 1_000_000;
/** A client that reads a large response more slowly than this is disconnected. */
const BYTES_PER_MS_MIN = 250;

/**
 * Closes the connections of clients that read large responses too slowly, because these stay in memory until they are read: after `stalledMs`
 * plus a second for each 250 kB. For a response that is produced while it is sent (`jsonItems`), what counts is what was sent so far; its
 * connection is also closed when nothing was read for `stalledMs`, as `closeConnections` does it for complete ones. Streams and files are not
 * affected.
 *
 * @param stalledMs the time that every client has, in milliseconds
 */
export function dropUnreadAnswers(
  app: Pick<FastifyInstance, 'addHook'>,
  stalledMs: number,
  unsentAnswers: UnsentAnswers,
): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    const isPartial = isInParts(payload);
    const whole = typeof payload === 'string' || Buffer.isBuffer(payload) ? payload : '';
    const bytes = whole.length;
    if (bytes > LARGE_BYTES) {
      try {
        unsentAnswers.addWhole(request, reply, whole);
      } catch (err) {
        done(err as Error);
        return;
      }
    }
    const { socket } = reply.raw;
    if ((isPartial || bytes > LARGE_BYTES) && socket instanceof Socket) {
      const [beganMs, bytesBefore] = [performance.now(), socket.bytesWritten];
      let timer: NodeJS.Timeout;
      const check = () => {
        const sent = isPartial ? socket.bytesWritten - bytesBefore : bytes;
        const leftMs = beganMs + stalledMs + sent / BYTES_PER_MS_MIN - performance.now();
        if (leftMs <= 0) socket.destroy();
        else timer = setTimeout(check, leftMs);
      };
      check();
      reply.raw.once('close', () => clearTimeout(timer));
    }
    // The server's timeout is `stalledMs`, see `closeConnections`. A response that waits behind another one of its connection has no socket yet.
    if (isPartial) {
      reply.raw.on('timeout', () => {
        const connection = request.raw.socket;
        // Nothing to send: the next part is still being produced.
        if (connection.writableLength > 0) connection.destroy();
      });
    }
    done();
  });
}
