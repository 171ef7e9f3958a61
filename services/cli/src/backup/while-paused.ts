import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { CommandError } from '../command-error.js';

/** Beyond this the processes are let go, and what was done meanwhile does not count. */
const PAUSE_MS_MAX = 10_000;
const STOP_CHECK_MS = 2;

function stateInProc(path: string): string {
  const stat = readFileSync(path, 'utf8');
  // The command, in parentheses, may hold spaces and parentheses of its own.
  return stat[stat.lastIndexOf(')') + 2] ?? '';
}

/** Whether every thread stands still. A system call that a thread is in ends first. */
function isStopped(pid: number): boolean {
  if (process.platform !== 'linux') {
    return execFileSync('ps', ['-o', 'state=', '-p', String(pid)], { encoding: 'utf8' })
      .trim()
      .startsWith('T');
  }
  return readdirSync(`/proc/${pid}/task`).every((thread) => stateInProc(`/proc/${pid}/task/${thread}/stat`) === 'T');
}

async function stop(pid: number, deadlineMs: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  while (!isStopped(pid)) {
    if (performance.now() > deadlineMs) throw new CommandError(`process ${pid} does not stop`);
    await sleep(STOP_CHECK_MS);
  }
}

/** Lets the processes go should this one be killed while they stand. */
function startWatchdog(pids: readonly number[]): ChildProcess {
  const script = `sleep ${(PAUSE_MS_MAX / 1000) * 1.5}; kill -CONT "$@"`;
  const watchdog = spawn('sh', ['-c', script, 'sh', ...pids.map(String)], { detached: true, stdio: 'ignore' });
  watchdog.unref();
  return watchdog;
}

/**
 * Does `work` while processes stand still (SIGSTOP), stopped in their order and let go in the reverse one: what they have on
 * disk is then what a `kill -9` of all of them would leave.
 *
 * @returns what `work` returned, and how long the pause was
 */
export async function whilePaused<T>(
  pids: readonly number[],
  work: () => T,
): Promise<{ readonly result: T; readonly pausedMs: number }> {
  const startedMs = performance.now();
  const deadlineMs = startedMs + PAUSE_MS_MAX;
  const watchdog = startWatchdog(pids);
  let result: T;
  try {
    for (const pid of pids) await stop(pid, deadlineMs);
    result = work();
    if (performance.now() > deadlineMs)
      throw new CommandError('the pause took too long: stop the stack, then back it up');
  } finally {
    for (const pid of [...pids].reverse()) process.kill(pid, 'SIGCONT');
    if (watchdog.pid !== undefined) process.kill(-watchdog.pid, 'SIGKILL');
  }
  return { result, pausedMs: performance.now() - startedMs };
}
