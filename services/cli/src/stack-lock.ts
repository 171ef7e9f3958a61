import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { identifyProcess, type RunState } from '@waymark/config';
import { z } from 'zod';
import { CommandError } from './command-error.js';
import { isAlive } from './is-alive.js';

const lockSchema = z.object({ supervisor: z.object({ pid: z.int(), started: z.string().optional() }) });

/** Left of a stack that was killed: a crash of the machine may have left the file without its content. */
const LEFT = { pid: 0, isAlive: false };

/** The lock of a stack on its DATA_DIR. */
export interface StackLock {
  /** The process of its supervisor. */
  readonly pid: number;
  /** False also if another process has its pid by now, as after a reboot. */
  readonly isAlive: boolean;
}

function supervisorIn(text: string): z.infer<typeof lockSchema>['supervisor'] | undefined {
  try {
    return lockSchema.parse(JSON.parse(text)).supervisor;
  } catch {
    return undefined;
  }
}

/** The content of the file; undefined when there is none, such as after a stop at this moment. */
function lockText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw err;
  }
}

/** Reads the lock of the stack on DATA_DIR; undefined when there is none. A supervisor that was killed leaves its lock behind. */
export function readStackLock(dataDir: string): StackLock | undefined {
  const text = lockText(join(dataDir, 'run', 'supervisor.lock'));
  if (text === undefined) return undefined;
  const supervisor = supervisorIn(text);
  if (supervisor === undefined) return LEFT;
  const { pid, started } = supervisor;
  // Where this user cannot see when the process has started, only its pid counts.
  const found = identifyProcess(pid)?.started;
  const isSame = !started || found === undefined || found === started;
  return { pid, isAlive: isSame && isAlive(pid) };
}

/**
 * Call it when there is no run state.
 *
 * @throws CommandError while a stack is starting or stopping: its supervisor has a lock file, but no run state
 */
export function rejectStartingStack(dataDir: string): void {
  const lock = readStackLock(dataDir);
  if (lock?.isAlive !== true) return;
  throw new CommandError(`a stack on ${dataDir} is starting or stopping (process ${lock.pid}): try again`);
}

/** @param stack the run state, if a stack is running. @throws CommandError while a stack is running, starting or stopping */
export function rejectStack(dataDir: string, stack: RunState | undefined): void {
  if (stack !== undefined) throw new CommandError(`a stack is running on ${dataDir}: stop it first`);
  rejectStartingStack(dataDir);
}

/** @throws CommandError when the last stack was killed: a supervisor that shuts down normally removes its lock file */
export function rejectKilledStack(dataDir: string): void {
  if (readStackLock(dataDir)?.isAlive !== false) return;
  throw new CommandError(
    `the stack on ${dataDir} was killed, so its writer may not have finished: start it with npm run up or systemctl start waymark, and stop it`,
  );
}
