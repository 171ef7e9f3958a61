import { existsSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (err) {
    return (err as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * The path of a directory that this process fills and then moves or removes: `prefix` and the id of the process. Removes those that
 * processes which were killed have left: with their hard links or copies they would hold disk space for ever.
 *
 * @param prefix absolute path, to which the id of the process is added
 */
export function draftAt(prefix: string): string {
  const directory = dirname(prefix);
  const start = basename(prefix);
  for (const name of existsSync(directory) ? readdirSync(directory) : []) {
    const pid = name.startsWith(start) ? name.slice(start.length) : '';
    if (!/^\d+$/.test(pid) || isRunning(Number(pid))) continue;
    rmSync(join(directory, name), { recursive: true, force: true });
  }
  return `${prefix}${process.pid}`;
}
