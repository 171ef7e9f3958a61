import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { whilePaused } from '../../src/backup/while-paused.js';

it('processes are resumed when one of the others has ended', async () => {
  const running = spawn('sleep', ['60'], { stdio: 'ignore' });
  onTestFinished(() => void running.kill('SIGKILL'));
  const ended = spawn('true', { stdio: 'ignore' });
  await once(ended, 'exit');
  await expect(whilePaused([running.pid, ended.pid] as number[], () => undefined)).rejects.toThrow('ESRCH');
  const state = execFileSync('ps', ['-o', 'state=', '-p', String(running.pid)], { encoding: 'utf8' });
  expect(state.trim()).not.toMatch(/^T/);
});
