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

function readLock(file: string): z.infer<typeof lockSchema> | undefined {
  try {
    return lockSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return undefined;
  }
}

/**
 * Removes the lock of a supervisor that has ended. The file is renamed first, and checked again: of two concurrent starts the slower one
 * may have renamed the new lock of the other. In that case it puts the file back and fails.
 */
function removeStaleLock(file: string, dataDir: string): void {
  const aside = `${file}.${process.pid}.stale`;
  try {
    renameSync(file, aside);
  } catch (err) {
    // The other start has removed it.
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw err;
  }
  const renamed = readLock(aside);
  const isLive = renamed !== undefined && isRunning(renamed.supervisor);
  if (isLive) linkSync(aside, file);
  rmSync(aside, { force: true });
  if (isLive) throw new DataDirInUseError(dataDir, renamed.supervisor.pid);
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

  const write = (children: readonly ProcessIdentity[]) => {
    writeFileSync(draft, JSON.stringify({ supervisor, children, holder }), { mode: 0o600 });
    renameSync(draft, file);
  };
  /** Creates the lock with its content in one step: to another start, a lock without content is one that a crash has left. */
  const take = () => {
    writeFileSync(draft, JSON.stringify({ supervisor, children: [], holder }), { mode: 0o600 });
    try {
      linkSync(draft, file);
    } finally {
      rmSync(draft, { force: true });
    }
  };

  /** @throws DataDirInUseError when another start was faster */
  const retake = () => {
    try {
      take();
    } catch (err) {
      const winner = readLock(file)?.supervisor;
      if ((err as NodeJS.ErrnoException).code !== 'EEXIST' || winner === undefined) throw err;
      throw new DataDirInUseError(dataDir, winner.pid);
    }
  };

  let leftovers: readonly ProcessIdentity[] = [];
  try {
    take();
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'EEXIST') throw err;
    const found = readLock(file);
    if (found !== undefined && isRunning(found.supervisor)) throw new DataDirInUseError(dataDir, found.supervisor.pid);
    leftovers = (found?.children ?? []).filter(isRunning);
    removeStaleLock(file, dataDir);
    retake();
  }

  return {
    leftovers,
    noteChildren: (pids) => write(pids.map(identifyProcess).filter((identity) => identity !== undefined)),
    release: () => rmSync(file, { force: true }),
  };
}
