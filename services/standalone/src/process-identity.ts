import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Identifies a process even when its number is reused. */
export interface ProcessIdentity {
  readonly pid: number;
  /** When it started, as the system puts it; only ever compared. */
  readonly started: string;
}

function startFromProc(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The command, in parentheses, may hold spaces and parentheses of its own: fields are counted behind the last one.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state, start] = [fields[0], fields[19]];
    return state === 'Z' ? undefined : start;
  } catch {
    return undefined;
  }
}

function startFromPs(pid: number): string | undefined {
  try {
    const line = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8', stdio: 'pipe' });
    return line.trim().startsWith('Z') ? undefined : line.trim().replace(/^\S+\s+/, '') || undefined;
  } catch {
    return undefined;
  }
}

/** The identity of a running process; undefined when there is none of that number (a zombie counts as gone). */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  const started = process.platform === 'linux' ? startFromProc(pid) : startFromPs(pid);
  return started === undefined ? undefined : { pid, started };
}

/** Whether that very process still runs. */
export function isRunning({ pid, started }: ProcessIdentity): boolean {
  return identifyProcess(pid)?.started === started;
}
