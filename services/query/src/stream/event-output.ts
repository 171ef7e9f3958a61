import { PassThrough } from 'node:stream';

/** What a client that does not read holds in memory at most, beside one frame. */
const BUFFER_BYTES = 64 * 1024;
/** How long a client may take to read the last frame. */
const LAST_FRAME_MS = 1000;

/** The body of a response that frames are written to at the pace of the client. */
export interface EventOutput {
  readonly body: PassThrough;
  write(text: string): void;
  /** Resolves when the client can take more. Rejects when it has read nothing for too long, or when the signal aborts. */
  ready(signal: AbortSignal): Promise<void>;
  /** Writes a frame unless the client is behind. */
  writeIfIdle(text: string): void;
  /** Ends the body with a last frame, and drops the client if it does not read that. */
  end(text: string): void;
}

/** The client has read nothing for too long. */
export class StalledClientError extends Error {
  override readonly name = 'StalledClientError';
}

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
      const timer = setTimeout(() => settle(() => reject(new StalledClientError())), stalledMs);
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
