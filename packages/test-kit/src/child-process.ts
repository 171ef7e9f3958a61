import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';

/** Sends `signal` to a process and waits until it has exited. */
export function endProcess(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once('exit', () => resolve());
    child.kill(signal);
  });
}

/** How a process has ended, in words; undefined while it runs. */
export function endingOf({ exitCode, signalCode }: ChildProcess): string | undefined {
  if (signalCode !== null) return `signal ${signalCode}`;
  return exitCode === null ? undefined : `exit code ${exitCode}`;
}

/** A command line whose process is killed with this one, even after `kill -9`, on systems with `setpriv`. */
export function dyingWithParent(command: string, args: readonly string[]): [string, string[]] {
  const setpriv = ['/usr/bin/setpriv', '/bin/setpriv'].find((path) => existsSync(path));
  return setpriv === undefined ? [command, [...args]] : [setpriv, ['--pdeathsig', 'KILL', command, ...args]];
}
