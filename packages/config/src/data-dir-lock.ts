import { chmodSync, linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { identifyProcess, isRunning, type ProcessIdentity } from './process-identity.js';

const identitySchema = z.object({ pid: z.int().positive(), started: z.string() });
const holderSchema = z.literal('move');
/** What holds a lock if it is no stack: `waymark move`, which runs the embedded ClickHouse alone. */
export type LockHolder = z.infer<typeof holderSchema>;
const lockSchema = z.object({
  supervisor: identitySchema,
  children: z.array(identitySchema),
  holder: holderSchema.optional(),
});

/** Another supervisor uses the same DATA_DIR. */
export class DataDirInUseError extends Error {
  constructor(dataDir: string, pid: number) {
    super(`${dataDir} is in use by another waymark (process ${pid}): stop it first, or set another DATA_DIR`);
    this.name = 'DataDirInUseError';
  }
}

/** The right to use a DATA_DIR. */
export interface DataDirLock {
  /** Children of a killed supervisor that still run. */
  readonly leftovers: readonly ProcessIdentity[];
  /** Stores the pids of the children in the lock file, so that the next start finds those that survive a crash. */
  noteChildren(pids: readonly number[]): void;
  /** Removes the lock file. */
  release(): void;
}

type Lock = z.infer<typeof lockSchema>;

/** The content of the file; undefined when there is none. */
function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw err;
  }
}

/** The lock with that content; undefined when a crash has left it incomplete. */
function parseLock(text: string): Lock | undefined {
  try {
    return lockSchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Links the draft to `file`. @returns false when there is such a file */
function linkDraft(draft: string, file: string): boolean {
  try {
    linkSync(draft, file);
    return true;
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw err;
  }
}

/**
 * Creates a lock with its content in one step, because one without content counts as left by a crash. The lock of a process that has ended
 * is never removed, only replaced, by the holder of a second lock and only if its content is still the same: of several concurrent starts,
 * a slower one must not take away the new lock of a faster one. The second lock is taken in the same way, so a crash leaves none for good.
 *
 * @returns the lock that was replaced
 * @throws DataDirInUseError
 */
function takeLock(file: string, content: string, dataDir: string): Lock | undefined {
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, content, { mode: 0o600 });
  try {
    for (;;) {
      if (linkDraft(draft, file)) return undefined;
      const text = readText(file);
      if (text === undefined) continue;
      const found = parseLock(text);
      if (found !== undefined && isRunning(found.supervisor))
        throw new DataDirInUseError(dataDir, found.supervisor.pid);
      const takeover = `${file}.takeover`;
      takeLock(takeover, content, dataDir);
      try {
        if (readText(file) === text) {
          renameSync(draft, file);
          return found;
        }
      } finally {
        rmSync(takeover, { force: true });
      }
    }
  } finally {
    rmSync(draft, { force: true });
  }
}

const PRIVATE_FOLDERS: ReadonlySet<string> = new Set([
  ...['run', 'redis', 'clickhouse', 'logs', 'spool'],
  ...['exports', 'imports'],
]);

/** Removes the access of other users to keys and data. A copy, an archive or an earlier release may have left it open. */
function closeToOthers(dataDir: string): void {
  for (const entry of readdirSync(dataDir, { withFileTypes: true })) {
    const path = join(dataDir, entry.name);
    if (entry.isDirectory() && PRIVATE_FOLDERS.has(entry.name)) chmodSync(path, 0o700);
    else if (entry.isFile() && entry.name.endsWith('.key')) chmodSync(path, 0o600);
  }
}

/**
 * Lets only one supervisor, or one command that runs a store, use a DATA_DIR. The lock contains the pid and the start time of its process, so that a lock left by a
 * crash or a reboot is recognised and replaced.
 *
 * @param holder by default a stack
 * @throws DataDirInUseError
 */
export function lockDataDir(dataDir: string, holder?: LockHolder): DataDirLock {
  const directory = join(dataDir, 'run');
  const file = join(directory, 'supervisor.lock');
  const draft = `${file}.${process.pid}`;
  const supervisor = identifyProcess(process.pid) ?? { pid: process.pid, started: '' };
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  closeToOthers(dataDir);

  const lockText = (children: readonly ProcessIdentity[]) => JSON.stringify({ supervisor, children, holder });
  const replaced = takeLock(file, lockText([]), dataDir);
  const leftovers = (replaced?.children ?? []).filter(isRunning);

  return {
    leftovers,
    noteChildren(pids) {
      const children = pids.map(identifyProcess).filter((identity) => identity !== undefined);
      writeFileSync(draft, lockText(children), { mode: 0o600 });
      renameSync(draft, file);
    },
    release: () => rmSync(file, { force: true }),
  };
}
