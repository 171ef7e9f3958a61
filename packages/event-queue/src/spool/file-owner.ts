import { randomBytes } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';

/**
 * The name of a spool file identifies the process that owns it: `<host>~<pid>~<start of that process>~<nonce>~<number>.spool`.
 * Another process takes the file over, by renaming it, only if the owner has ended.
 *
 * If the owner is running after all, nothing is lost: before it acknowledges an entry, it checks that the file still has its name. So the
 * renamed file contains every entry that was acknowledged before.
 */

const HOST = encodeURIComponent(hostname()).replaceAll('~', '%7E');
const SUFFIX = '.spool';
const NAME_PARTS = 5;
/** An owner on another host counts as ended if it has not touched its file for this long. A running one touches its files every 15 s. */
const FOREIGN_STALE_MS = 60_000;
/** Index of the start time among the fields of /proc/<pid>/stat that follow the command name. */
const START_TIME_FIELD = 19;

/** The parts of the name of a spool file that identify its owner. */
export interface SpoolFileName {
  readonly host: string;
  readonly pid: number;
  readonly startedAt: string;
  readonly nonce: string;
}

/** When a process started, in clock ticks since boot; `unknown` for a process that does not run, and on systems without /proc. */
async function processStart(pid: number): Promise<string> {
  try {
    const text = await readFile(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[START_TIME_FIELD] ?? 'unknown';
  } catch {
    return 'unknown';
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (err) {
    return err instanceof Error && 'code' in err && err.code === 'EPERM';
  }
}

/** A process as an owner of spool files. */
export interface SpoolOwner {
  /** A new file name of this process. */
  nextName(): string;
  /** Whether the file belongs to a process that has ended. */
  isOrphan(directory: string, name: string): Promise<boolean>;
}

/** Whether a file of a spool directory is a spool file of any process, by its name. Damaged files and copies have other names. */
export function isSpoolFile(name: string): boolean {
  return parse(name) !== undefined;
}

function parse(name: string): SpoolFileName | undefined {
  const parts = name.slice(0, -SUFFIX.length).split('~');
  const [host, pid, startedAt, nonce] = parts;
  if (!name.endsWith(SUFFIX) || parts.length !== NAME_PARTS || host === undefined || nonce === undefined)
    return undefined;
  return { host, pid: Number(pid), startedAt: startedAt ?? '', nonce };
}

/** The beginning of the names of all spool files of this process, in every directory. */
export async function ownSpoolPrefix(): Promise<string> {
  return `${HOST}~${process.pid}~${await processStart(process.pid)}~`;
}

/** Identifies this process (in tests: one of several spools of a process) as an owner of spool files. */
export async function createSpoolOwner(now: () => number): Promise<SpoolOwner> {
  const nonce = randomBytes(6).toString('hex');
  const prefix = `${await ownSpoolPrefix()}${nonce}~`;
  let number = 0;

  return {
    nextName() {
      number += 1;
      return `${prefix}${String(number).padStart(6, '0')}${SUFFIX}`;
    },

    async isOrphan(directory, name) {
      const owner = parse(name);
      if (owner === undefined || name.startsWith(prefix)) return false;
      if (owner.host !== HOST) {
        const touchedMs = (await stat(join(directory, name)).catch(() => undefined))?.mtimeMs;
        return touchedMs !== undefined && now() - touchedMs > FOREIGN_STALE_MS;
      }
      return !isRunning(owner.pid) || (await processStart(owner.pid)) !== owner.startedAt;
    },
  };
}
