import type { Socket } from 'node:net';
import { ApiError } from '@waymark/contract';
import type { FastifyRequest } from 'fastify';

/** Connections whose current request may take longer than others. */
const sockets = new WeakSet<Socket>();
/** Time that a client which is still sending has to read the answer. */
const LINGER_MS = 2000;

/** Whether the request on the connection has time limits of its own. */
export function hasLongBody(socket: Socket): boolean {
  return sockets.has(socket);
}

export interface LongBodyLimits {
  /** Longest pause between two pieces of the body. */
  readonly noDataMs: number;
  /** Longest time for the whole body. */
  readonly totalMs: number;
}

/** The time limits of one body. */
export interface LongBody {
  /** Rejects with an `ApiError` 400 when a limit has passed. */
  readonly passed: Promise<never>;
  /** Ends the limits. What has not arrived by then is not waited for much longer. */
  end(): void;
}

/** Gives the body of a request more time than the app allows to arrive. Call it before the body is read. */
export function allowLongBody(request: FastifyRequest, { noDataMs, totalMs }: LongBodyLimits): LongBody {
  const { raw } = request;
  const { socket } = raw;
  sockets.add(socket);
  let refuse = (_err: ApiError) => {};
  const passed = new Promise<never>((_resolve, reject) => {
    refuse = reject;
  });
  passed.catch(() => undefined);
  const onLate = () => refuse(new ApiError('bad_request', 'The request took too long to arrive.'));
  const total = setTimeout(onLate, totalMs);
  const pause = setTimeout(onLate, noDataMs);
  let bytes = socket.bytesRead;
  const look = setInterval(
    () => {
      if (socket.bytesRead === bytes) return;
      bytes = socket.bytesRead;
      pause.refresh();
    },
    Math.min(1000, noDataMs / 4),
  );
  return {
    passed,
    end() {
      clearTimeout(total);
      clearTimeout(pause);
      clearInterval(look);
      sockets.delete(socket);
      if (raw.complete) return;
      // What is left is read and discarded, so that the connection can serve further requests; a client that goes on sending is cut off.
      raw.resume();
      const destroyUnlessRead = () => {
        if (!raw.complete) socket.destroy();
      };
      setTimeout(destroyUnlessRead, LINGER_MS).unref();
    },
  };
}
