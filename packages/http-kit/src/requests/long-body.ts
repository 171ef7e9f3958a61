import type { Socket } from 'node:net';
import { ApiError } from '@waymark/contract';
import type { FastifyRequest } from 'fastify';

/** Connections whose current request has time limits of its own. */
const sockets = new WeakSet<Socket>();
/** How long a client may keep sending after the response, before its connection is closed. */
const LINGER_MS = 2000;

/** Whether the request on the connection has time limits of its own. */
export function hasLongBody(socket: Socket): boolean {
  return sockets.has(socket);
}

/** Time limits of a long body, in milliseconds. */
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
  /** Removes the limits. Call it when the body was read or is not needed any more: the rest of it may arrive for two seconds. */
  end(): void;
}

/** Allows the body of a request more time than the app's limit. Call it before the body is read. */
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
      // The rest of the body is read and discarded, so that the connection can serve further requests. If it takes too long, it is closed.
      raw.resume();
      const destroyUnlessRead = () => {
        if (!raw.complete) socket.destroy();
      };
      setTimeout(destroyUnlessRead, LINGER_MS).unref();
    },
  };
}
