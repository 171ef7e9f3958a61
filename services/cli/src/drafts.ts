import { randomBytes } from 'node:crypto';
import { lstatSync, readdirSync, rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { CommandError } from './command-error.js';
import { isAlive } from './is-alive.js';
import { printStatus } from './output.js';

/** The end of the names of this process's drafts. */
const OWN_END = `.${process.pid}-${randomBytes(4).toString('hex')}@${hostname()}.part`;
const DRAFT = /\.(\d+)-[0-9a-f]{8}@(.+)\.part$/;
/** Containers can have the same host name and share a directory, but do not see each other's processes. */
const UNCHANGED_MS_MIN = 3_600_000;
const SOLE_UNCHANGED_MS_MIN = 600_000;

/** Whether the draft was made on this host, by a process that has ended. */
function isLeft(name: string): boolean {
  const [, pid, host] = DRAFT.exec(name) ?? [];
  if (pid === undefined || host !== hostname() || name.endsWith(OWN_END)) return false;
  return Number(pid) === process.pid || !isAlive(Number(pid));
}

/** When a file was written to, or an entry was added to a directory or to one below it. Files in a directory may be hard links of files in use. */
function changedAtMs(path: string): number {
  const stat = lstatSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  return readdirSync(path, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => lstatSync(join(entry.parentPath, entry.name)).mtimeMs)
    .reduce((latest, atMs) => Math.max(latest, atMs), stat.mtimeMs);
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/**
 * Removes the drafts in a directory that killed processes have left; prints those that cannot be removed on standard error.
 *
 * @param isIncluded by the name and the path; the drafts of all paths that have not changed for an hour by default
 */
function removeLeft(
  directory: string,
  isIncluded = (_name: string, path: string) => Date.now() - changedAtMs(path) >= UNCHANGED_MS_MIN,
): void {
  for (const name of namesIn(directory).filter(isLeft)) {
    const path = join(directory, name);
    try {
      if (isIncluded(name, path)) rmSync(path, { recursive: true, force: true });
    } catch (err) {
      printStatus(`a killed command has left ${path}, which cannot be removed: ${(err as Error).message}`);
    }
  }
}

/**
 * The path of a file or directory that this process writes, and then renames or removes:
 * `<path>.<process id>-<8 random digits>@<host>.part`.
 *
 * Removes what killed processes have left in the same directory, for any path: drafts of this host whose process has ended and that
 * have not changed for an hour. Otherwise they would occupy the disk for ever.
 */
export function draftOf(path: string): string {
  removeLeft(dirname(path));
  return `${path}${OWN_END}`;
}

/**
 * As {@link draftOf}, for a path that only one process may write, in no other container either: what killed processes have left of it is
 * removed after ten minutes without a change, so that it does not take the room of the new one.
 *
 * @throws CommandError when one has changed since, because a process in another container may write it
 */
export function soleDraftOf(path: string): string {
  const isOfPath = (name: string) => name.replace(DRAFT, '') === basename(path);
  const isOld = (at: string) => Date.now() - changedAtMs(at) >= SOLE_UNCHANGED_MS_MIN;
  removeLeft(dirname(path), (name, at) => isOfPath(name) && isOld(at));
  const [left] = namesIn(dirname(path)).filter((name) => isLeft(name) && isOfPath(name));
  if (left === undefined) return draftOf(path);
  throw new CommandError(
    `${join(dirname(path), left)} has changed a short time ago: if no other container writes it, remove it and repeat the command`,
  );
}
