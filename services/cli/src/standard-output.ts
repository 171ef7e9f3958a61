import { once } from 'node:events';
import { fstatSync, writeSync } from 'node:fs';
import { CommandError, InterruptedError } from './command-error.js';

/** Converts the error of a failed write to standard output to a message for the user. */
export function outputError({ code, message }: NodeJS.ErrnoException): CommandError {
  return code === 'EPIPE'
    ? new InterruptedError('the reader of standard output has ended, the export is not complete')
    : new CommandError(`standard output: ${message}`);
}

/** Writes all bytes. A single write to a file on a full disk may write only some of them, and return their number without an error. */
function writeWhole(fd: number, bytes: Uint8Array): void {
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
  } catch (err) {
    throw outputError(err as NodeJS.ErrnoException);
  }
}

/** See {@link standardOutput}. */
export interface StandardOutput {
  /** Resolves when the next bytes may be written: a slow reader slows down the command. */
  write(bytes: Uint8Array): Promise<void>;
  /** Resolves when the operating system has accepted all bytes. */
  flush(): Promise<void>;
}

/** Standard output, with back pressure of the program that reads it. Pending writes reject when `signal` aborts. */
export function standardOutput(signal: AbortSignal): StandardOutput {
  const { stdout } = process;
  const stat = fstatSync(stdout.fd);
  const isFile = !stdout.isTTY && (stat.isFile() || stat.isCharacterDevice());

  async function drained(): Promise<void> {
    try {
      await once(stdout, 'drain', { signal });
    } catch (err) {
      throw signal.aborted ? signal.reason : outputError(err as NodeJS.ErrnoException);
    }
  }

  return {
    async write(bytes) {
      if (isFile) writeWhole(stdout.fd, bytes);
      else if (!stdout.write(bytes)) await drained();
    },

    async flush() {
      signal.throwIfAborted();
      await new Promise<void>((resolve, reject) => {
        const onAbort = () => reject(signal.reason);
        signal.addEventListener('abort', onAbort, { once: true });
        // An empty write, because the event `drain` only follows a write that returned false.
        stdout.write('', (err) => {
          signal.removeEventListener('abort', onAbort);
          if (err instanceof Error) reject(outputError(err));
          else resolve();
        });
      });
    },
  };
}
