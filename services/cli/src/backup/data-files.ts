import { constants, existsSync, linkSync, lstatSync, mkdirSync, readdirSync, readlinkSync, symlinkSync } from 'node:fs';
import { copyFile, open, truncate } from 'node:fs/promises';
import { join } from 'node:path';

/** The parts of DATA_DIR that a backup contains; logs and files of running processes are left out. */
export const BACKUP_ENTRIES = [
  ...['instance.key', 'instance-previous.key', 'admin.key', 'admin-previous.key'],
  ...['clickhouse', 'redis', 'spool'],
] as const;

/** ClickHouse's status and temporary files, which change in place and are useless later, and unfinished rewrites of the Redis log. */
const SKIPPED = /^clickhouse\/(?:status$|tmp\/)|^redis\/temp-/;

/** A file, directory or symbolic link below DATA_DIR at the time of listing. */
export type DataEntry =
  | { readonly type: 'directory'; readonly path: string; readonly mode: number }
  | { readonly type: 'link'; readonly path: string; readonly target: string }
  | { readonly type: 'file'; readonly path: string; readonly bytes: number };

/** Lists the files, directories and links to back up; each directory comes before its content. */
export function listData(directory: string): DataEntry[] {
  const entries: DataEntry[] = [];
  const add = (path: string): void => {
    const absolute = join(directory, path);
    const stat = lstatSync(absolute, { throwIfNoEntry: false });
    if (stat === undefined || SKIPPED.test(path)) return;
    if (stat.isSymbolicLink()) entries.push({ type: 'link', path, target: readlinkSync(absolute) });
    else if (stat.isFile()) entries.push({ type: 'file', path, bytes: stat.size });
    else if (stat.isDirectory()) {
      entries.push({ type: 'directory', path, mode: stat.mode });
      for (const name of readdirSync(absolute)) add(`${path}/${name}`);
    }
  };
  for (const name of BACKUP_ENTRIES) add(name);
  return entries;
}

/**
 * Hard-links all files into `to`, which takes almost no time. `to` must be on the same file system. The stores only append to files or
 * replace them, so the first `bytes` of each linked file never change.
 *
 * @returns the entries, with the sizes at this moment
 */
export function linkData(from: string, to: string): readonly DataEntry[] {
  mkdirSync(to, { recursive: true, mode: 0o700 });
  const entries = listData(from);
  for (const entry of entries) {
    if (entry.type === 'directory') mkdirSync(join(to, entry.path));
    else if (entry.type === 'file') linkSync(join(from, entry.path), join(to, entry.path));
  }
  return entries;
}

async function syncPath(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Copies the first `bytes` of a file. */
async function copyContent(source: string, target: string, bytes: number): Promise<void> {
  await copyFile(source, target, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  await truncate(target, bytes);
  await syncPath(target);
}

/**
 * Copies the listed entries and flushes them to disk.
 *
 * @param signal ends the copy between two files
 * @returns bytes copied
 */
export async function copyData(
  entries: readonly DataEntry[],
  from: string,
  to: string,
  signal: AbortSignal,
): Promise<number> {
  mkdirSync(to, { recursive: true, mode: 0o700 });
  let bytes = 0;
  for (const entry of entries) {
    signal.throwIfAborted();
    const target = join(to, entry.path);
    if (entry.type === 'directory') mkdirSync(target, { mode: entry.mode });
    else if (entry.type === 'link') symlinkSync(entry.target, target);
    else {
      await copyContent(join(from, entry.path), target, entry.bytes);
      bytes += entry.bytes;
    }
  }
  for (const entry of entries) if (entry.type === 'directory') await syncPath(join(to, entry.path));
  await syncPath(to);
  signal.throwIfAborted();
  return bytes;
}

/** Whether `directory` contains any entry of a backup. */
export function hasData(directory: string): boolean {
  return BACKUP_ENTRIES.some((name) => existsSync(join(directory, name)));
}
