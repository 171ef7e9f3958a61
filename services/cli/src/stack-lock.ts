import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { CommandError } from './command-error.js';
import { isAlive } from './is-alive.js';

const lockSchema = z.object({ supervisor: z.object({ pid: z.int() }) });

/** The process that has locked DATA_DIR, and whether it is running; undefined when there is no lock. */
function readLock(dataDir: string): { readonly pid: number; readonly isAlive: boolean } | undefined {
  const file = join(dataDir, 'run', 'supervisor.lock');
  if (!existsSync(file)) return undefined;
  const { pid } = lockSchema.parse(JSON.parse(readFileSync(file, 'utf8'))).supervisor;
  return { pid, isAlive: isAlive(pid) };
}

/**
 * Call it when there is no run state.
 *
 * @throws CommandError while a stack is starting or stopping: its supervisor has a lock file, but no run state
 */
export function rejectStartingStack(dataDir: string): void {
  const lock = readLock(dataDir);
  if (lock?.isAlive !== true) return;
  throw new CommandError(`a stack on ${dataDir} is starting or stopping (process ${lock.pid}): try again`);
}

/** @throws CommandError when the last stack was killed: a supervisor that stops in order removes its lock file */
export function rejectKilledStack(dataDir: string): void {
  if (readLock(dataDir)?.isAlive !== false) return;
  throw new CommandError(
    `the stack on ${dataDir} was killed, so its writer may not have finished: start it with npm run up, and stop it with Ctrl-C`,
  );
}
