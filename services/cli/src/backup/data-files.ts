import {
  constants,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  type Stats,
  statSync,
  symlinkSync,
} from 'node:fs';
import { copyFile, open, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { CommandError } from '../command-error.js';

/** The parts of DATA_DIR that a backup contains; logs and files of running processes are left out. */
export const BACKUP_ENTRIES = [
  ...['instance.key', 'instance-previous.key', 'admin.key', 'admin-previous.key'],
  ...['clickhouse', 'redis', 'spool'],
] as const;

/** ClickHouse's status and temporary files, which change in place and are useless later, and unfinished rewrites of the Redis log. */
const SKIPPED = /^clickhouse\/(?:status$|tmp\/)|^redis\/temp-/;

/** A file, directory or symbolic link below DATA_DIR at the time of listing. */
export type DataEntry =
  | {
      readonly type: 'directory';
      readonly path: string;
      readonly mode: number;
      readonly inode: number;
      readonly mtimeMs: number;
    }
  | { readonly type: 'link'; readonly path: string; readonly target: string }
  | { readonly type: 'file'; readonly path: string; readonly bytes: number; readonly inode: number };

/** The names in a directory; none if it has been removed meanwhile. */
function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw err;
  }
}

/** A directory and all that is below it, as listed before, if it is as it was then; undefined if it must be listed. */
type ListedBefore = (path: string, stat: Stats) => readonly DataEntry[] | undefined;

/**
 * What one of the parts of DATA_DIR is. A link is followed, because what it leads to is the store.
 *
 * @throws CommandError when it leads nowhere, such as to a disk that is not mounted
 */
function statPart(path: string): Stats | undefined {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined && lstatSync(path, { throwIfNoEntry: false }) !== undefined)
    throw new CommandError(`${path} is a link to ${readlinkSync(path)}, which does not exist`);
  return stat;
}

/**
 * Lists the files, directories and links to back up; each directory comes before its content.
 *
 * @throws CommandError when a part of DATA_DIR is a link that leads nowhere
 */
export function listData(directory: string, partOf: ListedBefore = () => undefined): DataEntry[] {
  const entries: DataEntry[] = [];
  const add = (path: string, stat: Stats | undefined): void => {
    const absolute = join(directory, path);
    if (stat === undefined || SKIPPED.test(path)) return;
    if (stat.isSymbolicLink()) entries.push({ type: 'link', path, target: readlinkSync(absolute) });
    else if (stat.isFile()) entries.push({ type: 'file', path, bytes: stat.size, inode: stat.ino });
    else if (stat.isDirectory()) {
      const part = partOf(path, stat);
      if (part !== undefined) {
        entries.push(...part);
        return;
      }
      entries.push({ type: 'directory', path, mode: stat.mode, inode: stat.ino, mtimeMs: stat.mtimeMs });
      for (const name of namesIn(absolute))
        add(`${path}/${name}`, lstatSync(join(absolute, name), { throwIfNoEntry: false }));
    }
  };
  for (const name of BACKUP_ENTRIES) add(name, statPart(join(directory, name)));
  return entries;
}

/** A data part of ClickHouse: its files never change once its directory has this name. */
const PART = /^clickhouse\/store\/[^/]+\/[^/]+\/(?!tmp|delete|detached|moving|deduplication_logs)[^/]+$/;
/** A directory that has changed so shortly before it was listed may have changed again without another time of change. */
const STEADY_MS = 1_000;

/** What {@link linkAhead} has linked. */
export interface LinkedAhead {
  /** By path; of a directory too. */
  readonly inodes: ReadonlyMap<string, number>;
  /** The entries of data parts, by the path of their directory, which is the first of them. */
  readonly parts: ReadonlyMap<string, readonly DataEntry[]>;
}

/** The path of a file. A part of DATA_DIR may be a link, which is followed: `linkSync` would link the link itself. */
function sourceOf(from: string, { path }: DataEntry): string {
  const source = join(from, path);
  return path.includes('/') ? source : realpathSync(source);
}

/** Links a file. @throws CommandError when it is on another file system */
function link(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'EXDEV') throw err;
    throw new CommandError(
      `${from} is not on the disk of DATA_DIR, so it cannot be backed up while the stack runs: stop the stack, then back it up; or mount the disk at DATA_DIR`,
    );
  }
}

/** Links a file; false if it has been removed meanwhile. */
function linkIfPresent(from: string, to: string): boolean {
  try {
    link(from, to);
    return true;
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'ENOENT') throw err;
    return false;
  }
}

/**
 * Hard-links all files into `to`, while the stack runs and changes them. What is removed meanwhile is left out.
 *
 * @throws CommandError when files are not on the file system of `to`
 */
export function linkAhead(from: string, to: string): LinkedAhead {
  mkdirSync(to, { recursive: true, mode: 0o700 });
  const steadyMs = Date.now() - STEADY_MS;
  const inodes = new Map<string, number>();
  const parts = new Map<string, DataEntry[]>();
  let partPath = '';
  for (const entry of listData(from)) {
    if (entry.type === 'directory' && PART.test(entry.path)) {
      partPath = entry.path;
      if (entry.mtimeMs < steadyMs) parts.set(partPath, [entry]);
    } else if (entry.path.startsWith(`${partPath}/`)) parts.get(partPath)?.push(entry);
    const target = join(to, entry.path);
    if (entry.type === 'directory') {
      mkdirSync(target);
      inodes.set(entry.path, entry.inode);
    } else if (entry.type === 'file' && linkIfPresent(sourceOf(from, entry), target)) {
      inodes.set(entry.path, lstatSync(target).ino);
    }
  }
  return { inodes, parts };
}

/**
 * Hard-links into `to` the files that are not what {@link linkAhead} has linked there, which takes almost no time. The stores only append
 * to files or replace them, so the first `bytes` of each linked file never change.
 *
 * @returns the entries, with the sizes at this moment
 */
export function linkData(from: string, to: string, { inodes, parts }: LinkedAhead): readonly DataEntry[] {
  const entries = listData(from, (path, { ino, mtimeMs }) => {
    const part = parts.get(path);
    const [directory] = part ?? [];
    const isSame = directory?.type === 'directory' && directory.inode === ino && directory.mtimeMs === mtimeMs;
    return isSame ? part : undefined;
  });
  for (const entry of entries) {
    const target = join(to, entry.path);
    if (entry.type === 'directory' && !inodes.has(entry.path)) mkdirSync(target);
    else if (entry.type === 'file' && inodes.get(entry.path) !== entry.inode) {
      if (inodes.has(entry.path)) rmSync(target);
      link(sourceOf(from, entry), target);
    }
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
