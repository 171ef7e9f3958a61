import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  symlinkSync,
  truncateSync,
} from 'node:fs';
import { join } from 'node:path';

/** What of DATA_DIR must survive; logs and the files of running processes need not. */
export const KEPT_ENTRIES = ['instance.key', 'admin.key', 'clickhouse', 'redis', 'spool'] as const;

/** Rewritten in place while the engine runs, and of no use afterwards; half-written rewrites of Redis' log. */
const SKIPPED = /^clickhouse\/(?:status$|tmp\/)|^redis\/temp-/;

/** A file, directory or symbolic link below DATA_DIR, as it was when it was listed. */
export type DataEntry =
  | { readonly type: 'directory'; readonly path: string; readonly mode: number }
  | { readonly type: 'link'; readonly path: string; readonly target: string }
  | { readonly type: 'file'; readonly path: string; readonly bytes: number };

/** Everything that is kept of `directory`, each directory before what it holds. */
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
  for (const name of KEPT_ENTRIES) add(name);
  return entries;
}

/**
 * A second name for every file, in no time: `to` must be on the same file system. The stores never change what they have
 * written, they append, or replace a file as a whole; so the first `bytes` of each stay what they were.
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

function syncPath(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

function copyFile(source: string, target: string, bytes: number): void {
  copyFileSync(source, target, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  truncateSync(target, bytes);
  syncPath(target);
}

/** Copies what was listed, onto the disk. @returns bytes copied */
export function copyData(entries: readonly DataEntry[], from: string, to: string): number {
  mkdirSync(to, { recursive: true, mode: 0o700 });
  let bytes = 0;
  for (const entry of entries) {
    const target = join(to, entry.path);
    if (entry.type === 'directory') mkdirSync(target, { mode: entry.mode });
    else if (entry.type === 'link') symlinkSync(entry.target, target);
    else {
      copyFile(join(from, entry.path), target, entry.bytes);
      bytes += entry.bytes;
    }
  }
  for (const entry of entries) if (entry.type === 'directory') syncPath(join(to, entry.path));
  syncPath(to);
  return bytes;
}

/** Whether `directory` holds any of it. */
export function hasData(directory: string): boolean {
  return KEPT_ENTRIES.some((name) => existsSync(join(directory, name)));
}
