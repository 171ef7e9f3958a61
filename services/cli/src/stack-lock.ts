import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { identifyProcess, type LockHolder, type RunState } from '@waymark/config';
import { z } from 'zod';
import { CommandError } from './command-error.js';
import { isAlive } from './is-alive.js';

const lockSchema = z.object({
  supervisor: z.object({ pid: z.int(), started: z.string().optional() }),
  holder: z.literal('move' satisfies LockHolder).optional(),
});

/** Left of a stack that was killed: a crash of the machine may have left the file without its content. */
const LEFT = { pid: 0, isAlive: false, isMove: false };

/** The lock of a stack on its DATA_DIR. */
export interface StackLock {
  /** The process of its supervisor. */
  readonly pid: number;
  /** False also if another process has its pid by now, as after a reboot. */
  readonly isAlive: boolean;
  /** Whether `waymark move` holds or held it, and no stack. */
  readonly isMove: boolean;
}

function parseLock(text: string): z.infer<typeof lockSchema> | undefined {
  try {
    return lockSchema.parse(JSON.parse(text));
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
  const lock = parseLock(text);
  if (lock === undefined) return LEFT;
  const { pid, started } = lock.supervisor;
  // Where this user cannot see when the process has started, only its pid counts.
  const found = identifyProcess(pid)?.started;
  const isSame = !started || found === undefined || found === started;
  return { pid, isAlive: isSame && isAlive(pid), isMove: lock.holder === 'move' };
}

/**
 * Call it when there is no run state.
 *
 * @throws CommandError while a stack is starting or stopping, when its supervisor has a lock file, but no run state; while `waymark move` runs
 */
export function rejectStartingStack(dataDir: string): void {
  const lock = readStackLock(dataDir);
  if (lock?.isAlive !== true) return;
  if (lock.isMove)
    throw new CommandError(`waymark move runs on ${dataDir} (process ${lock.pid}): try again when it has ended`);
  throw new CommandError(`a stack on ${dataDir} is starting or stopping (process ${lock.pid}): try again`);
}

/** @param stack the run state, if a stack is running. @throws CommandError while a stack is running, starting or stopping */
export function rejectStack(dataDir: string, stack: RunState | undefined): void {
  if (stack !== undefined) throw new CommandError(`a stack is running on ${dataDir}: stop it first`);
  rejectStartingStack(dataDir);
}

/**
 * Ignores the lock of a killed `waymark move`: a move is refused unless the last stack has shut down normally.
 *
 * @throws CommandError when the last stack was killed: a supervisor that shuts down normally removes its lock file
 */
export function rejectKilledStack(dataDir: string): void {
  const lock = readStackLock(dataDir);
  if (lock?.isAlive !== false || lock.isMove) return;
  throw new CommandError(
    `the stack on ${dataDir} was killed, so its writer may not have finished: start it with npm run up or systemctl start waymark, and stop it`,
  );
}
