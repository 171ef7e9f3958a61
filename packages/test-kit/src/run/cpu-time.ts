import { readFileSync } from 'node:fs';

declare module 'vitest' {
  interface TaskMeta {
    /** CPU time of a test file, in ms: of its worker and of the processes that it has started and that have ended. */
    cpuMs?: number;
  }
}

/** Linux counts the CPU time of processes in hundredths of a second. */
const TICK_MS = 10;
/** Places of `cutime` and `cstime` in what follows the name in `/proc/<pid>/stat`, see proc_pid_stat(5). */
const OF_CHILDREN = [13, 14] as const;

/** CPU time of this process and of its children that have ended, in ms. Without children where there is no /proc. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000 + childrenMs();
}

function childrenMs(): number {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return OF_CHILDREN.reduce((sum, place) => sum + Number(fields[place]) * TICK_MS, 0);
  } catch {
    return 0;
  }
}
