import { randomBytes } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';

/**
 * Whose a spool file is stands in its name: `<host>~<pid>~<start of that process>~<nonce>~<number>.spool`. A file of a process
 * that lives is left alone; one of a dead process is taken over by renaming it.
 *
 * Judging a process dead by mistake loses nothing: a writer acknowledges an entry only after seeing that the file is still
 * its own, so whatever was acknowledged before the renaming is in the file that the taker reads.
 */

const SUFFIX = '.spool';
const NAME_PARTS = 5;
/** A process on another host that shares the directory touches its files more often than this. */
const FOREIGN_STALE_MS = 60_000;
/** Field of /proc/<pid>/stat, counted from after the command name: start in clock ticks since boot. */
const START_TIME_FIELD = 19;

export interface SpoolFileName {
  readonly host: string;
  readonly pid: number;
  readonly startedAt: string;
  readonly nonce: string;
}

/** When a process started, in the system's own measure; `unknown` where there is no /proc. */
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
  /** Whether the file belongs to a process that is gone. */
  isOrphan(directory: string, name: string): Promise<boolean>;
}

function parse(name: string): SpoolFileName | undefined {
  const parts = name.slice(0, -SUFFIX.length).split('~');
  const [host, pid, startedAt, nonce] = parts;
  if (!name.endsWith(SUFFIX) || parts.length !== NAME_PARTS || host === undefined || nonce === undefined)
    return undefined;
  return { host, pid: Number(pid), startedAt: startedAt ?? '', nonce };
}

/** This process (or, in tests, one of several in it) as an owner of spool files. */
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
