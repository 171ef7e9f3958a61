import { type FileHandle, open, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** The file a process is appending to. */
export interface OpenSegment {
  readonly name: string;
  /** Bytes that are certainly on disk. */
  size(): number;
  /**
   * Appends and waits for the disk. False: the file has been taken over by someone who thought this process dead, and may
   * have been read before these bytes reached it.
   */
  append(bytes: Buffer): Promise<boolean>;
  close(): Promise<void>;
}

async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function inodeOf(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.ino;
}

/** Creates a spool file; its name, too, is on disk before anything in it counts. */
export async function openSegment(directory: string, name: string): Promise<OpenSegment> {
  const path = join(directory, name);
  const handle: FileHandle = await open(path, 'ax', 0o600);
  const { ino } = await handle.stat();
  await syncDirectory(directory);
  let size = 0;

  return {
    name,
    size: () => size,

    async append(bytes) {
      await handle.appendFile(bytes);
      await handle.datasync();
      if ((await inodeOf(path)) !== ino) return false;
      size += bytes.length;
      return true;
    },

    async close() {
      await handle.close();
      if (size === 0) await rm(path, { force: true });
    },
  };
}
