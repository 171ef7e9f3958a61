import { type ChildProcess, fork } from 'node:child_process';
import { environmentWith } from '@waymark/config';

/** Starts a compiled process. It ends with this process, because its IPC channel closes. */
export function forkProcess(
  entry: string | URL,
  args: readonly string[] = [],
  env: Record<string, string> = {},
): ChildProcess {
  const child = fork(entry, args, {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: environmentWith(env),
  });
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  child.once('exit', () => process.off('exit', end));
  return child;
}
