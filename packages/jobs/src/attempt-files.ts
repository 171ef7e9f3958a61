import { open, readdir, readFile, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Files of background jobs: each job has a directory, and each of its attempts a directory in it. The checkpoint of an attempt records how
 * much of its other files is synced to disk.
 */

/** Name of the file with the checkpoint of an attempt. */
export const CHECKPOINT = 'checkpoint.json';

const MISSING = new Set(['ENOENT', 'ENOTDIR']);

/** Returns the result; undefined when the file or directory does not exist. */
export async function orMissing<T>(result: Promise<T>): Promise<T | undefined> {
  try {
    return await result;
  } catch (err) {
    if (MISSING.has((err as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw err;
  }
}

/** Bytes of a file; 0 when it does not exist. */
export async function sizeOf(path: string): Promise<number> {
  return (await orMissing(stat(path)))?.size ?? 0;
}

/** Syncs a directory to disk, so that the names in it survive a crash of the machine. */
export async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path);
  await handle.sync().finally(() => handle.close());
}

/** The JSON of the checkpoint of an attempt; undefined when it has none. */
export async function readCheckpoint(attemptDirectory: string): Promise<unknown> {
  const text = await orMissing(readFile(join(attemptDirectory, CHECKPOINT), 'utf8'));
  return text === undefined ? undefined : JSON.parse(text);
}

/** Replaces the checkpoint of an attempt, durably: it survives a crash of the process or of the machine. */
export async function writeCheckpoint(attemptDirectory: string, checkpoint: object, mode?: number): Promise<void> {
  const next = join(attemptDirectory, `${CHECKPOINT}.next`);
  const handle = await open(next, 'w', mode);
  try {
    await handle.writeFile(JSON.stringify(checkpoint));
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(next, join(attemptDirectory, CHECKPOINT));
  await syncDirectory(attemptDirectory);
}

/** Bytes of all files of each job, by the name of its directory. */
export async function bytesByJob(root: string): Promise<Map<string, number>> {
  const jobs = (await orMissing(readdir(root))) ?? [];
  return new Map(await Promise.all(jobs.map(async (job) => [job, await bytesBelow(join(root, job))] as const)));
}

/** Bytes of all files in a directory. A directory that is removed meanwhile counts as empty, and the others count. */
async function bytesBelow(directory: string): Promise<number> {
  const entries = (await orMissing(readdir(directory, { withFileTypes: true }))) ?? [];
  const sizes = entries.map((entry) => {
    const path = join(directory, entry.name);
    return entry.isDirectory() ? bytesBelow(path) : sizeOf(path);
  });
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
