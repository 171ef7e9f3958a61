import { execFileSync, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { bundleProcess, waitFor } from '@waymark/test-kit';
import { expect, it, onTestFinished, vi } from 'vitest';
import { whilePaused } from '../../src/backup/while-paused.js';

const PAUSING = await bundleProcess(new URL('./pausing-process.ts', import.meta.url));
/** Far below the time after which a command that hangs is given up. */
const RESUMED_MS_MAX = 5_000;

function isPaused(pid: number | undefined): boolean {
  // Small systems have no `ps`, and others than Linux no such file.
  if (process.platform === 'linux') return / T /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  return execFileSync('ps', ['-o', 'state=', '-p', String(pid)], { encoding: 'utf8' })
    .trim()
    .startsWith('T');
}

it('processes are resumed at once when the command that has paused them is killed', async () => {
  const running = spawn('sleep', ['60'], { stdio: 'ignore' });
  onTestFinished(() => void running.kill('SIGKILL'));
  const pausing = fork(PAUSING, [String(running.pid)]);
  onTestFinished(() => void pausing.kill('SIGKILL'));
  await waitFor(() => isPaused(running.pid), { what: 'the pause' });
  pausing.kill('SIGKILL');
  await waitFor(() => !isPaused(running.pid), { what: 'the end of the pause', timeoutMs: RESUMED_MS_MAX });
});

it('no process is paused without the process that resumes them in any case', async () => {
  const running = spawn('sleep', ['60'], { stdio: 'ignore' });
  onTestFinished(() => void running.kill('SIGKILL'));
  vi.stubEnv('PATH', '/nowhere');
  onTestFinished(() => void vi.unstubAllEnvs());
  let isWorkDone = false;
  const pausing = whilePaused([running.pid as number], () => {
    isWorkDone = true;
  });
  await expect(pausing).rejects.toThrow('the process that ends the pause in any case cannot be started');
  expect([isWorkDone, isPaused(running.pid)]).toEqual([false, false]);
});

it('processes are resumed when one of the others has ended', async () => {
  const running = spawn('sleep', ['60'], { stdio: 'ignore' });
  onTestFinished(() => void running.kill('SIGKILL'));
  const ended = spawn('true', { stdio: 'ignore' });
  await once(ended, 'exit');
  await expect(whilePaused([running.pid, ended.pid] as number[], () => undefined)).rejects.toThrow(
    `process ${ended.pid} of the stack has ended and is being started again`,
  );
  expect(isPaused(running.pid)).toBe(false);
});
