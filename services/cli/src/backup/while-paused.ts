import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { CommandError } from '../command-error.js';

/** A longer pause is an error: the processes are resumed, and the result of the work is dropped. */
const PAUSE_MS_MAX = 10_000;
const STOP_CHECK_MS = 2;

function stateInProc(path: string): string {
  const stat = readFileSync(path, 'utf8');
  // The command name, in parentheses, may contain spaces and parentheses.
  return stat[stat.lastIndexOf(')') + 2] ?? '';
}

/** Whether all threads of a process have stopped. After SIGSTOP a thread first finishes its system call. */
function isStopped(pid: number): boolean {
  if (process.platform !== 'linux') {
    return execFileSync('ps', ['-o', 'state=', '-p', String(pid)], { encoding: 'utf8' })
      .trim()
      .startsWith('T');
  }
  return readdirSync(`/proc/${pid}/task`).every((thread) => stateInProc(`/proc/${pid}/task/${thread}/stat`) === 'T');
}

/** Errors of a signal to a process that has ended, and of a look at its state. */
const HAS_ENDED: ReadonlySet<string | undefined> = new Set(['ESRCH', 'ENOENT']);

/** @throws CommandError when the process has ended, or has not stopped at the deadline */
async function stop(pid: number, deadlineMs: number): Promise<void> {
  try {
    process.kill(pid, 'SIGSTOP');
    while (!isStopped(pid)) {
      if (performance.now() > deadlineMs) throw new CommandError(`process ${pid} does not stop`);
      await delay(STOP_CHECK_MS);
    }
  } catch (err) {
    if (!HAS_ENDED.has((err as NodeJS.ErrnoException).code)) throw err;
    throw new CommandError(`process ${pid} of the stack has ended and is being started again: repeat the command`);
  }
}

/** Sends a signal to a process, or to a group. One that has ended needs none, and must not keep the others stopped. */
function signal(pid: number, name: 'SIGCONT' | 'SIGKILL'): void {
  try {
    process.kill(pid, name);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'ESRCH') throw err;
  }
}

/**
 * Starts a process that resumes the others if this one is killed while they are stopped, or hangs. Its input is a pipe, which the kernel
 * closes when this process ends, however it ends.
 *
 * @returns its process group
 * @throws CommandError when it cannot be started
 */
async function startResumeWatchdog(pids: readonly number[]): Promise<number> {
  const resumeAll = 'kill -CONT "$@"; kill -KILL 0';
  const script = `{ sleep ${(PAUSE_MS_MAX / 1000) * 1.5}; ${resumeAll}; } & read -r _; ${resumeAll}`;
  const watchdog = spawn('sh', ['-c', script, 'sh', ...pids.map(String)], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  watchdog.unref();
  await once(watchdog, 'spawn').catch((err: Error) => {
    throw new CommandError(`the process that ends the pause in any case cannot be started: ${err.message}`);
  });
  return -(watchdog.pid as number);
}

/**
 * Runs `work` while processes are stopped (SIGSTOP), in the given order, and resumes them in reverse order. Meanwhile their files on
 * disk are in the state that a `kill -9` of all of them would leave.
 *
 * @returns the result of `work`, and the length of the pause
 */
export async function whilePaused<T>(
  pids: readonly number[],
  work: () => T,
): Promise<{ readonly result: T; readonly pausedMs: number }> {
  const watchdog = await startResumeWatchdog(pids);
  const startedMs = performance.now();
  const deadlineMs = startedMs + PAUSE_MS_MAX;
  let result: T;
  try {
    for (const pid of pids) await stop(pid, deadlineMs);
    result = work();
    if (performance.now() > deadlineMs)
      throw new CommandError('the pause took too long: stop the stack, then back it up');
  } finally {
    for (const pid of [...pids].reverse()) signal(pid, 'SIGCONT');
    signal(watchdog, 'SIGKILL');
  }
  return { result, pausedMs: performance.now() - startedMs };
}
