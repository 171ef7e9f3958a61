import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Begins with a dot, so that no listing of spool files has it. */
const FILE = '.directory-id';
const ID = /^[0-9a-f-]{36}$/;

async function storedId(path: string): Promise<string | undefined> {
  try {
    const text = await readFile(path, 'utf8');
    return ID.test(text) ? text : undefined;
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw err;
  }
}

/**
 * The id of a spool directory, which is in a file there: processes that share the directory return the same id, also in other containers and
 * after a restart. Creates directory and file at the first call. If two processes do so at once, the last one decides, so read it again
 * before each use.
 *
 * @throws the error of the file system
 */
export async function readDirectoryId(directory: string): Promise<string> {
  const path = join(directory, FILE);
  const stored = await storedId(path);
  if (stored !== undefined) return stored;
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const id = randomUUID();
  const draft = `${path}.${id}`;
  await writeFile(draft, id, { mode: 0o600 });
  await rename(draft, path);
  return (await storedId(path)) ?? id;
}
