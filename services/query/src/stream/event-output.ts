import { PassThrough } from 'node:stream';

/** Bytes that are buffered for a client that does not read, besides one frame. */
const BUFFER_BYTES = 64 * 1024;
/** How long a client may take to read the last frame, in milliseconds. */
const LAST_FRAME_MS = 1000;

/** The body of a stream, written no faster than the client reads. */
export interface EventOutput {
  readonly body: PassThrough;
  /** Writes a text. Await {@link ready} before. */
  write(text: string): void;
  /** Resolves when the buffer has room. @throws StalledStreamError when the client reads nothing for too long; the reason of the signal */
  ready(signal: AbortSignal): Promise<void>;
  /** Writes a text, or drops it if the buffer is full. */
  writeIfIdle(text: string): void;
  /** Ends the body with a last text, and closes the connection if the client has not read it after a second. */
  end(text: string): void;
}

/** The client has read nothing for too long. */
export class StalledStreamError extends Error {
  override readonly name = 'StalledStreamError';
}

/** @param stalledMs how long a client may read nothing while the buffer is full */
export function createEventOutput(stalledMs: number): EventOutput {
  const body = new PassThrough({ highWaterMark: BUFFER_BYTES });
  // A client that disconnects destroys the body with an error; `close` is emitted as well.
  body.on('error', () => undefined);

  function drained(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (finish: () => void) => {
        clearTimeout(timer);
        body.off('drain', onDrain);
        signal.removeEventListener('abort', onAbort);
        finish();
      };
      const onDrain = () => settle(resolve);
      const onAbort = () => settle(() => reject(signal.reason));
      const timer = setTimeout(() => settle(() => reject(new StalledStreamError())), stalledMs);
      body.once('drain', onDrain);
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  return {
    body,
    write: (text) => void body.write(text),
    async ready(signal) {
      signal.throwIfAborted();
      if (body.writableNeedDrain) await drained(signal);
    },
    writeIfIdle(text) {
      if (!body.writableNeedDrain) body.write(text);
    },
    end(text) {
      body.end(text);
      setTimeout(() => body.destroy(), LAST_FRAME_MS).unref();
    },
  };
}
