import { type ChildProcess, spawn } from 'node:child_process';
import { getEventListeners, once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@waymark/test-kit';
import { afterAll, afterEach, expect, it } from 'vitest';
import { untilReady } from '../../src/launch.js';

const directory = temporaryDirectory('waymark-launch-');
const log = join(directory, 'it.log');
const never = () => new Promise<never>(() => undefined);
let child: ChildProcess | undefined;

afterEach(() => void child?.kill('SIGKILL'));
afterAll(() => rmSync(directory, { recursive: true }));

/** A process that runs a script of Node. */
function start(script: string): ChildProcess {
  child = spawn(process.execPath, ['-e', script], { stdio: 'ignore' });
  return child;
}

it('a child that is ready leaves no listener for its start, however often it is started again', async () => {
  const { signal } = new AbortController();
  for (let run = 0; run < 3; run++) {
    const started = start('setInterval(() => {}, 1000)');
    await untilReady('it', started, log, signal, async () => undefined);
    // Its end is no failed start: the log, which somebody may have removed, is not read.
    expect(started.listenerCount('exit')).toBe(0);
    started.kill('SIGKILL');
    await once(started, 'exit');
  }
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

it('a child that ends at its start is reported with the end of its log, of which little is read', async () => {
  writeFileSync(log, `${'x'.repeat(1_000_000)}\n{"level":60,"msg":"the reason"}\n`);
  const failed = untilReady('it', start('process.exit(3)'), log, new AbortController().signal, never);
  const { message } = (await failed.catch((err: unknown) => err)) as Error;
  expect(message).toMatch(/^it ended at its start \(exit code 3\):\n[\s\S]*the reason\n +\(.*it\.log\)$/);
  expect(message.length).toBeLessThan(100_000);
});

it('a child that ends at its start is reported if its log was removed, too', async () => {
  rmSync(log, { force: true });
  const failed = untilReady('it', start('process.exit(3)'), log, new AbortController().signal, never);
  await expect(failed).rejects.toThrow('it ended at its start (exit code 3)');
});
