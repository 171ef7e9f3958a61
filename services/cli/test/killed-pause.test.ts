import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { waitFor } from '@waymark/test-kit';
import { expect, it } from 'vitest';

/** Stops the processes as a backup does, says so, and never resumes them. */
const PAUSE = `
import { whilePaused } from ${JSON.stringify(new URL('../dist/backup/while-paused.js', import.meta.url).href)};
await whilePaused(process.argv.slice(1).map(Number), () => {
  process.send('paused');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
});
`;

const startIdle = () => spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });

/** The state of a process in /proc, such as T while it is stopped. */
function stateOf({ pid }: ChildProcess): string | undefined {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat[stat.lastIndexOf(')') + 2];
}

it.skipIf(process.platform !== 'linux')(
  'a backup that is killed while it copies leaves no process stopped',
  async () => {
    const stack = [startIdle(), startIdle()];
    try {
      const pids = stack.map(({ pid }) => String(pid));
      const backup = spawn(process.execPath, ['--input-type=module', '-e', PAUSE, ...pids], {
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      });
      await once(backup, 'message');
      expect(stack.map(stateOf)).toEqual(['T', 'T']);
      backup.kill('SIGKILL');
      await once(backup, 'exit');
      await waitFor(() => stack.every((process) => stateOf(process) !== 'T'), { what: 'the processes to be resumed' });
    } finally {
      for (const process of stack) process.kill('SIGKILL');
    }
  },
);
