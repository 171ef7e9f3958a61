import { type FileHandle, open, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** The spool file to which this process appends. */
export interface OpenSegment {
  readonly name: string;
  /** Number of bytes that are synced to disk. */
  size(): number;
  /**
   * Appends bytes and syncs them to disk.
   *
   * @returns false if another process has taken the file over, and may have read it before these bytes were written
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

/** Creates a spool file, and syncs the directory so that the file's name is on disk before any entry is acknowledged. */
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
