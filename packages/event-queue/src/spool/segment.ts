import type { Stats } from 'node:fs';
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
   * @throws the error of the file system
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

/** Undefined if the file does not exist. @throws any other error of the file system: the file may still be there */
export async function statIfPresent(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw err;
  }
}

/**
 * Creates a spool file, and syncs the directory so that the file's name is on disk before any entry is acknowledged.
 *
 * @param sync syncs the directory
 * @throws the error of the file system; then there is no file
 */
export async function openSegment(directory: string, name: string, sync = syncDirectory): Promise<OpenSegment> {
  const path = join(directory, name);
  const handle: FileHandle = await open(path, 'ax', 0o600);
  let ino: number;
  try {
    ({ ino } = await handle.stat());
    await sync(directory);
  } catch (err) {
    await handle.close();
    await rm(path, { force: true });
    throw err;
  }
  let size = 0;

  return {
    name,
    size: () => size,

    async append(bytes) {
      await handle.appendFile(bytes);
      await handle.datasync();
      if ((await statIfPresent(path))?.ino !== ino) return false;
      size += bytes.length;
      return true;
    },

    async close() {
      await handle.close();
      if (size === 0) await rm(path, { force: true });
    },
  };
}
