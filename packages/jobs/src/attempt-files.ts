import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
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
  await writeFile(next, JSON.stringify(checkpoint), { mode, flush: true });
  await rename(next, join(attemptDirectory, CHECKPOINT));
  await syncDirectory(attemptDirectory);
}

/** Only this user may enter: a DATA_DIR that others may list does not show them the files. */
export const DIRECTORY_MODE = 0o700;

/**
 * Prepares the directory of a new attempt, and removes those of all earlier ones. May be repeated after an interruption. Those of later
 * attempts stay: the process may have lost its lease meanwhile.
 *
 * @param takeOver called with the directories of an earlier attempt and of the new one, for the latest attempt first until it returns a
 * checkpoint: takes over the files of the earlier attempt up to that checkpoint
 * @returns the checkpoint from which to continue; undefined = start from the beginning, or the job has no directory
 */
export async function beginAttempt<T>(
  jobDirectory: string,
  attempt: number,
  takeOver: (before: string, own: string) => Promise<T | undefined>,
): Promise<T | undefined> {
  const names = await orMissing(readdir(jobDirectory));
  if (names === undefined) return undefined;
  const directoryOf = (number: number) => join(jobDirectory, String(number));
  const numbers = names.map(Number).filter((number) => number > 0 && number < attempt);
  const earlier = numbers.sort((one, other) => other - one).map(directoryOf);
  const own = directoryOf(attempt);
  await rm(own, { recursive: true, force: true });
  await mkdir(own, { mode: DIRECTORY_MODE });
  let continued: T | undefined;
  for (const before of earlier) {
    continued = await takeOver(before, own);
    if (continued !== undefined) break;
  }
  for (const before of earlier) await rm(before, { recursive: true, force: true });
  return continued;
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
