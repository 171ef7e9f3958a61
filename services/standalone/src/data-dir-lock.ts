import { chmodSync, linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { identifyProcess, isRunning, type ProcessIdentity } from './process-identity.js';

const identitySchema = z.object({ pid: z.int().positive(), started: z.string() });
const lockSchema = z.object({ supervisor: identitySchema, children: z.array(identitySchema) });

/** Another supervisor works on the same DATA_DIR. */
export class DataDirInUseError extends Error {
  constructor(dataDir: string, pid: number) {
    super(`${dataDir} is in use by another waymark (process ${pid}): stop it first, or set another DATA_DIR`);
    this.name = 'DataDirInUseError';
  }
}

export interface DataDirLock {
  /** Processes a killed supervisor left behind and that still run. */
  readonly leftovers: readonly ProcessIdentity[];
  /** Notes which processes belong to this supervisor, for a start after a crash. */
  noteChildren(pids: readonly number[]): void;
  release(): void;
}

function readLock(file: string): z.infer<typeof lockSchema> | undefined {
  try {
    return lockSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return undefined;
  }
}

/** Of two starts at once one renames the stale lock; the other may catch the winner's fresh one and puts it back. */
function removeStaleLock(file: string, dataDir: string): void {
  const aside = `${file}.${process.pid}.stale`;
  renameSync(file, aside);
  const caught = readLock(aside);
  const isLive = caught !== undefined && isRunning(caught.supervisor);
  if (isLive) linkSync(aside, file);
  rmSync(aside, { force: true });
  if (isLive) throw new DataDirInUseError(dataDir, caught.supervisor.pid);
}

const PRIVATE_FOLDERS: ReadonlySet<string> = new Set(['run', 'redis', 'clickhouse', 'logs', 'spool']);

/** Removes access of other users to keys and stores, whatever modes a copy, an archive or an earlier release has left. */
function closeToOthers(dataDir: string): void {
  for (const entry of readdirSync(dataDir, { withFileTypes: true })) {
    const path = join(dataDir, entry.name);
    if (entry.isDirectory() && PRIVATE_FOLDERS.has(entry.name)) chmodSync(path, 0o700);
    else if (entry.isFile() && entry.name.endsWith('.key')) chmodSync(path, 0o600);
  }
}

/**
 * One supervisor a DATA_DIR. The lock names a process and when it started, so one left by a crash or a reboot is distinguished from
 * a live one and taken over.
 *
 * @throws DataDirInUseError
 */
export function lockDataDir(dataDir: string): DataDirLock {
  const directory = join(dataDir, 'run');
  const file = join(directory, 'supervisor.lock');
  const draft = `${file}.${process.pid}`;
  const supervisor = identifyProcess(process.pid) ?? { pid: process.pid, started: '' };
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  closeToOthers(dataDir);

  const write = (children: readonly ProcessIdentity[]) => {
    writeFileSync(draft, JSON.stringify({ supervisor, children }), { mode: 0o600 });
    renameSync(draft, file);
  };
  const take = () => writeFileSync(file, JSON.stringify({ supervisor, children: [] }), { flag: 'wx', mode: 0o600 });

  let leftovers: readonly ProcessIdentity[] = [];
  try {
    take();
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'EEXIST') throw err;
    const found = readLock(file);
    if (found !== undefined && isRunning(found.supervisor)) throw new DataDirInUseError(dataDir, found.supervisor.pid);
    leftovers = (found?.children ?? []).filter(isRunning);
    removeStaleLock(file, dataDir);
    take();
  }

  return {
    leftovers,
    noteChildren: (pids) => write(pids.map(identifyProcess).filter((identity) => identity !== undefined)),
    release: () => rmSync(file, { force: true }),
  };
}
