import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { endProcesses, identifyProcess } from '@waymark/config';
import { runAsStranger, strangerCannotRun, waitFor } from '@waymark/test-kit';
import { expect, it, onTestFinished } from 'vitest';

const MODULE = new URL('../dist/process-identity.js', import.meta.url);
const WAIT_MS = 50;
const reason = process.getuid?.() === 0 ? strangerCannotRun() : 'only root can start a process of another user';

it('processes of an earlier run that do not end by themselves are killed', async () => {
  const child = spawn('sleep', ['1000']);
  const ended = once(child, 'exit');
  const identity = identifyProcess(child.pid ?? 0) ?? { pid: 0, started: '' };
  // On a busy machine a killed process takes a while to end.
  await endProcesses([identity], 10 * WAIT_MS);
  expect(await ended).toEqual([null, 'SIGKILL']);
});

it.skipIf(reason)(
  `one that belongs to another user is named instead of awaited for ever${reason ? ` (skipped: ${reason})` : ''}`,
  () => {
    const identity = JSON.stringify(identifyProcess(process.pid));
    const script = `import { endProcesses } from './process-identity.js';
await endProcesses([${identity}], ${WAIT_MS}).catch((err) => console.log(err.message));`;
    expect(runAsStranger([MODULE], script)).toBe(
      `processes of an earlier run cannot be ended (${process.pid}): end them, then start again\n`,
    );
  },
);

it.skipIf(process.platform !== 'linux')(
  'a zombie counts as ended, so that no start waits for it (skipped: only Linux shows states of processes in /proc)',
  async () => {
    // The parent is replaced by a program that never reads how its child has ended. A shell would read it.
    const parent = spawn('sh', ['-c', 'sleep 1000 & echo $!; exec sleep 1000']);
    onTestFinished(() => void parent.kill('SIGKILL'));
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(line.toString());
    const isReplaced = () => readFileSync(`/proc/${parent.pid}/comm`, 'utf8') === 'sleep\n';
    await waitFor(isReplaced, { what: 'the parent to be replaced' });
    process.kill(pid, 'SIGKILL');
    const isZombie = () => / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
    await waitFor(isZombie, { what: 'the child to have ended' });
    expect(identifyProcess(pid)).toBeUndefined();
  },
);
