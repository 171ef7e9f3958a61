import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';

/** Ends a process with `signal` and waits until it is gone. */
export function endProcess(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once('exit', () => resolve());
    child.kill(signal);
  });
}

/** A command line whose process dies with ours, `kill -9` of a test run included, where the system supports it. */
export function dyingWithParent(command: string, args: readonly string[]): [string, string[]] {
  const setpriv = ['/usr/bin/setpriv', '/bin/setpriv'].find((path) => existsSync(path));
  return setpriv === undefined ? [command, [...args]] : [setpriv, ['--pdeathsig', 'KILL', command, ...args]];
}
