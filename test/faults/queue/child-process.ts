import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { environmentWith } from '@waymark/config';

/** Starts a compiled process of ours, or a test process run by tsx. It ends with this process, because its IPC channel closes. */
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

/** Sends SIGKILL and waits for the exit. */
export async function kill9(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}
