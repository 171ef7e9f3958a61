import { randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Begins with a dot, so that no listing of spool files has it. */
const FILE = '.directory-id';
const ID = /^[0-9a-f-]{36}$/;

const codeOf = (err: unknown) => (err as NodeJS.ErrnoException).code;

/** Removes a file without an id, such as one that was damaged. */
async function storedId(path: string): Promise<string | undefined> {
  try {
    const text = await readFile(path, 'utf8');
    if (ID.test(text)) return text;
  } catch (err) {
    if (codeOf(err) === 'ENOENT') return undefined;
    throw err;
  }
  await rm(path, { force: true });
  return undefined;
}

/**
 * The id of a spool directory, which is in a file there: processes that share the directory return the same id, also in other containers and
 * after a restart. Creates directory and file at the first call. Read it again before each use, because the directory can be replaced.
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
  try {
    await writeFile(draft, id, { mode: 0o600, flush: true });
    // A rename would replace the id that another process has just stored, and may have used.
    await link(draft, path);
    return id;
  } catch (err) {
    if (codeOf(err) === 'EEXIST') return await readDirectoryId(directory);
    throw err;
  } finally {
    await rm(draft, { force: true });
  }
}
