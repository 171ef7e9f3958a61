import { readFileSync } from 'node:fs';

/** The kernel's clock ticks per second on every Linux that Node supports. */
const TICKS_PER_SECOND = 100;

/** CPU time that a process has used, user and system, of all threads, in microseconds. Resolution 10 ms. */
export function processCpuMicroseconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The command name, in parentheses, may contain spaces, so the other fields are counted from its end.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return ((Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND) * 1e6;
}
