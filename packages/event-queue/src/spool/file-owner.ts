import { randomBytes } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';

/**
 * The name of a spool file identifies the process that owns it: `<host>~<pid>~<start of that process>~<nonce>~<number>.spool`.
 * Another process takes the file over, by renaming it, only if the owner is dead.
 *
 * Nothing is lost if the owner is alive after all: it acknowledges an entry only after checking that the file still has its
 * name, so every entry acknowledged before the renaming is in the renamed file.
 */

const SUFFIX = '.spool';
const NAME_PARTS = 5;
/** Owners on other hosts that share the directory touch their files more often than this. */
const FOREIGN_STALE_MS = 60_000;
/** Index of the start time in /proc/<pid>/stat, counted after the command name; in clock ticks since boot. */
const START_TIME_FIELD = 19;

export interface SpoolFileName {
  readonly host: string;
  readonly pid: number;
  readonly startedAt: string;
  readonly nonce: string;
}

/** When a process started, in clock ticks since boot; `unknown` on systems without /proc. */
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

export interface SpoolOwner {
  /** A new file name of this process. */
  nextName(): string;
  isMine(name: string): boolean;
  /** Whether the file belongs to a process that has ended. */
  isOrphan(directory: string, name: string): Promise<boolean>;
}

function parse(name: string): SpoolFileName | undefined {
  const parts = name.slice(0, -SUFFIX.length).split('~');
  const [host, pid, startedAt, nonce] = parts;
  if (!name.endsWith(SUFFIX) || parts.length !== NAME_PARTS || host === undefined || nonce === undefined)
    return undefined;
  return { host, pid: Number(pid), startedAt: startedAt ?? '', nonce };
}

/** Identifies this process (in tests: one of several spools of a process) as an owner of spool files. */
export async function createSpoolOwner(now: () => number): Promise<SpoolOwner> {
  const host = encodeURIComponent(hostname()).replaceAll('~', '%7E');
  const nonce = randomBytes(6).toString('hex');
  const prefix = `${host}~${process.pid}~${await processStart(process.pid)}~${nonce}~`;
  let number = 0;

  return {
    nextName() {
      number += 1;
      return `${prefix}${String(number).padStart(6, '0')}${SUFFIX}`;
    },

    isMine: (name) => name.startsWith(prefix),

    async isOrphan(directory, name) {
      const owner = parse(name);
      if (owner === undefined || name.startsWith(prefix)) return false;
      if (owner.host !== host) {
        const touchedAt = (await stat(join(directory, name)).catch(() => undefined))?.mtimeMs;
        return touchedAt !== undefined && now() - touchedAt > FOREIGN_STALE_MS;
      }
      return !isRunning(owner.pid) || (await processStart(owner.pid)) !== owner.startedAt;
    },
  };
}
