import { type ChildProcess, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** Identifies a process, even if its pid is reused later. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Start time as text of the operating system, for comparison only. */
  readonly started: string;
}

function startFromProc(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The command, in parentheses, may contain spaces and parentheses: the other fields follow the last one.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state, start] = [fields[0], fields[19]];
    return state === 'Z' ? undefined : start;
  } catch {
    return undefined;
  }
}

function startFromPs(pid: number): string | undefined {
  try {
    // Every caller gets the same text, whatever its language and time zone.
    const env = { ...process.env, LC_ALL: 'C', TZ: 'UTC' };
    const line = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      stdio: 'pipe',
      env,
    });
    return line.trim().startsWith('Z') ? undefined : line.trim().replace(/^\S+\s+/, '') || undefined;
  } catch {
    return undefined;
  }
}

/** The identity of the running process with that pid; undefined when there is none. A zombie counts as ended. */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  const started = process.platform === 'linux' ? startFromProc(pid) : startFromPs(pid);
  return started === undefined ? undefined : { pid, started };
}

/** Errors of a signal to a process that has ended; its pid may belong to a process of another user by then. */
const ENDED_CODES: ReadonlySet<string | undefined> = new Set(['ESRCH', 'EPERM']);

/** Kills the process with SIGKILL, unless it has ended. */
export function killProcess({ pid }: Pick<ProcessIdentity, 'pid'>): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (err) {
    if (!ENDED_CODES.has((err as NodeJS.ErrnoException).code)) throw err;
  }
}

/** Whether the process still runs; false when its pid now belongs to another. */
export function isRunning({ pid, started }: ProcessIdentity): boolean {
  return identifyProcess(pid)?.started === started;
}

/** Sends SIGTERM to a child and, after `deadlineMs`, SIGKILL. Resolves when it has ended, at once if it has ended before or could not be spawned. */
export async function endChild(child: ChildProcess, deadlineMs: number): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), deadlineMs);
  await ended;
  clearTimeout(timer);
}

const WAIT_MS = 5_000;
const CHECK_EVERY_MS = 50;

/**
 * Waits until processes of an earlier run have ended, and kills those that have not ended in time.
 *
 * @param waitMs how long to wait before killing them, and how long after that before failing
 * @throws Error when one cannot be ended: it belongs to another user, or waits for a device that does not answer
 */
export async function endProcesses(processes: readonly ProcessIdentity[], waitMs = WAIT_MS): Promise<void> {
  const startMs = performance.now();
  let killedMs: number | undefined;
  for (let running = processes.filter(isRunning); running.length > 0; running = running.filter(isRunning)) {
    const nowMs = performance.now();
    if (killedMs !== undefined && nowMs - killedMs > waitMs) {
      const pids = running.map(({ pid }) => pid).join(', ');
      throw new Error(`processes of an earlier run cannot be ended (${pids}): end them, then start again`);
    }
    if (nowMs - startMs > waitMs) {
      running.forEach(killProcess);
      killedMs ??= nowMs;
    }
    await delay(CHECK_EVERY_MS);
  }
}
