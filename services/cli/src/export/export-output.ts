import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { CommandError } from '../command-error.js';
import { standardOutput } from '../standard-output.js';

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

/** Standard output, where nothing can be taken back. */
export function standardOutputOf(signal: AbortSignal): ExportOutput {
  const { write, flush } = standardOutput(signal);
  return { write, complete: flush, discard: async () => undefined };
}
