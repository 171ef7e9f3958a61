import { once } from 'node:events';
import { fstatSync, writeSync } from 'node:fs';
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { CommandError } from '../command-error.js';

/** Where the bytes of an export go. */
export interface ExportOutput {
  /** Resolves when the next bytes may follow. */
  write(bytes: Uint8Array): Promise<void>;
  /** Ends an export that is complete. */
  complete(): Promise<void>;
  /** Removes what has been written; does nothing after `complete`. */
  discard(): Promise<void>;
}

/** Readable by its owner only: events have addresses of visitors, customers have mail addresses. */
const MODE = 0o600;

/** A file that gets its name when it is complete; until then it is beside it, as `<path>.<process id>.part`. */
export async function openFileOutput(path: string): Promise<ExportOutput> {
  const existing = await stat(path).catch(() => undefined);
  if (existing?.isFile() === false) {
    throw new CommandError(`${path} is no regular file; without --output the export goes to standard output`);
  }
  const part = `${path}.${process.pid}.part`;
  let handle: FileHandle | undefined = await open(part, 'w', MODE);
  return {
    async write(bytes) {
      await handle?.appendFile(bytes);
    },
    async complete() {
      await handle?.sync();
      await handle?.close();
      handle = undefined;
      await rename(part, path);
    },
    async discard() {
      if (handle === undefined) return;
      await handle.close();
      await rm(part, { force: true });
    },
  };
}

/**
 * What a failed write to standard output means.
 *
 * @returns for the user
 */
export function outputError({ code, message }: NodeJS.ErrnoException): CommandError {
  return new CommandError(
    code === 'EPIPE'
      ? 'the reader of standard output has ended, the export is not complete'
      : `standard output: ${message}`,
  );
}

/** Writes all bytes: to a file on a full disk, a single write may take only some of them, and say so in its result alone. */
function writeWhole(fd: number, bytes: Uint8Array): void {
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
  } catch (err) {
    throw outputError(err as NodeJS.ErrnoException);
  }
}

/** Standard output, for programs that read while the export runs. */
export function standardOutput(signal: AbortSignal): ExportOutput {
  const { stdout } = process;
  const stat = fstatSync(stdout.fd);
  const isFile = !stdout.isTTY && (stat.isFile() || stat.isCharacterDevice());
  const drained = () =>
    once(stdout, 'drain', { signal }).catch((err: NodeJS.ErrnoException) => {
      throw signal.aborted ? signal.reason : outputError(err);
    });
  return {
    async write(bytes) {
      if (isFile) writeWhole(stdout.fd, bytes);
      else if (!stdout.write(bytes)) await drained();
    },
    async complete() {
      if (stdout.writableLength > 0) await drained();
    },
    discard: async () => undefined,
  };
}
