import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { CommandError } from '../command-error.js';
import { draftOf } from '../drafts.js';
import { escapeControls } from '../output.js';
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

/**
 * Writes to a draft beside `path`, which is renamed to `path` when it is complete. Drafts that killed commands have left are removed.
 *
 * @throws CommandError when the path is no regular file
 */
export async function openFileOutput(path: string): Promise<ExportOutput> {
  const existing = await stat(path).catch(() => undefined);
  if (existing?.isFile() === false) {
    throw new CommandError(`${path} is no regular file; without --output the result goes to standard output`);
  }
  const draft = draftOf(path);
  let handle: FileHandle | undefined = await open(draft, 'w', MODE);
  return {
    async write(bytes) {
      await handle?.appendFile(bytes);
    },
    async complete() {
      await handle?.sync();
      await handle?.close();
      handle = undefined;
      await rename(draft, path);
    },
    async discard() {
      if (handle === undefined) return;
      await handle.close();
      await rm(draft, { force: true });
    },
  };
}

/** Writes to standard output, where `discard` can remove nothing. To a terminal it writes text, with control characters escaped. */
export function standardOutputOf(signal: AbortSignal): ExportOutput {
  const { write, flush } = standardOutput(signal);
  // A character may be divided between two parts.
  const decoder = new TextDecoder();
  // The lines of CSV end with CR LF, of which the terminal needs the LF only.
  const textOf = (bytes: Uint8Array) => decoder.decode(bytes, { stream: true }).replaceAll('\r', '');
  const toTerminal = (bytes: Uint8Array) => write(Buffer.from(escapeControls(textOf(bytes))));
  return { write: process.stdout.isTTY ? toTerminal : write, complete: flush, discard: async () => undefined };
}
