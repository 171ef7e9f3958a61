import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { environmentWith } from '@waymark/config';

/** Starts one of our processes, compiled, or one of the tests', whose source tsx runs. It dies with this one: its IPC channel closes. */
export function forkProcess(entry: URL, args: readonly string[] = [], env: Record<string, string> = {}): ChildProcess {
  const child = fork(fileURLToPath(entry), args, {
    execArgv: entry.pathname.endsWith('.ts') ? ['--import', 'tsx'] : [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: environmentWith(env),
  });
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  child.once('exit', () => process.off('exit', end));
  return child;
}

/** Kills it the hard way and waits until it is gone. */
export async function kill9(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}
