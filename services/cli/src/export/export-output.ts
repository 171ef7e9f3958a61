import { type FileHandle, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { CommandError } from '../command-error.js';
import { isAlive } from '../is-alive.js';
import { standardOutput } from '../standard-output.js';

/** The destination of an export. */
export interface ExportOutput {
  /** Resolves when the next bytes may be written. */
  write(bytes: Uint8Array): Promise<void>;
  /** Ends a complete export. */
  complete(): Promise<void>;
  /** Removes what has been written; does nothing after `complete`. */
  discard(): Promise<void>;
}

/** Only the owner can read the file, because it may contain IP addresses of visitors and email addresses of customers. */
const MODE = 0o600;

/** Removes what exports to the path have left that were killed. */
async function removeLeftParts(path: string): Promise<void> {
  const prefix = `${basename(path)}.`;
  for (const name of await readdir(dirname(path)).catch(() => [])) {
    const [, pid] = name.startsWith(prefix) ? (/^(\d+)\.part$/.exec(name.slice(prefix.length)) ?? []) : [];
    if (pid !== undefined && !isAlive(Number(pid))) await rm(join(dirname(path), name), { force: true });
  }
}

/**
 * Writes to `<path>.<process id>.part`, which is renamed to `path` when the export is complete. Those of exports that were killed are removed.
 *
 * @throws CommandError when the path is no regular file
 */
export async function openFileOutput(path: string): Promise<ExportOutput> {
  const existing = await stat(path).catch(() => undefined);
  if (existing?.isFile() === false) {
    throw new CommandError(`${path} is no regular file; without --output the export goes to standard output`);
  }
  await removeLeftParts(path);
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

/** Writes to standard output, where `discard` can remove nothing. */
export function standardOutputOf(signal: AbortSignal): ExportOutput {
  const { write, flush } = standardOutput(signal);
  return { write, complete: flush, discard: async () => undefined };
}
