import { type ChildProcess, spawn } from 'node:child_process';
import { waitFor } from '@waymark/test-kit';
import { afterEach, describe, expect, it } from 'vitest';
import { type KeptChild, keepRunning } from '../../src/keep-running.js';

const FOREVER = ['-e', 'setInterval(() => {}, 1000)'];

describe('a kept child', () => {
  const started: ChildProcess[] = [];
  const reports: string[] = [];
  let restarts = 0;
  let kept: KeptChild | undefined;

  afterEach(async () => {
    await kept?.stop(1000);
    for (const child of started.splice(0)) child.kill('SIGKILL');
    reports.length = 0;
    restarts = 0;
  });

  async function keep(
    launch: () => Promise<{ child: ChildProcess; pid: number }>,
    now: () => number = Date.now,
  ): Promise<KeptChild> {
    kept = await keepRunning({
      name: 'it',
      launch,
      signal: new AbortController().signal,
      onRestart: () => {
        restarts += 1;
      },
      report: (line) => reports.push(line),
      now,
    });
    return kept;
  }

  async function start(args: readonly string[] = FOREVER) {
    const child = spawn(process.execPath, args, { stdio: 'ignore' });
    started.push(child);
    return { child, pid: child.pid ?? 0 };
  }

  it('is restarted each time it is killed, as a new process', async () => {
    const child = await keep(() => start());
    const pids = new Set([child.current.pid]);
    for (const kill of [1, 2, 3]) {
      process.kill(child.current.pid, 'SIGKILL');
      await waitFor(() => restarts === kill, { what: `restart ${kill}` });
      pids.add(child.current.pid);
    }
    expect(pids.size).toBe(4);
    expect(reports[0]).toBe('it ended (signal SIGKILL), starting it again');
  });

  it('waits longer before each restart, and the shortest time again after it has run for ten seconds', async () => {
    let nowMs = 0;
    const child = await keep(
      () => start(),
      () => nowMs,
    );
    async function restartMs(): Promise<number> {
      const [before, killedMs] = [restarts, performance.now()];
      process.kill(child.current.pid, 'SIGKILL');
      await waitFor(() => restarts > before, { what: 'the restart' });
      return performance.now() - killedMs;
    }
    for (const waitMs of [100, 200, 400]) expect(await restartMs()).toBeGreaterThanOrEqual(waitMs - 1);
    // On a busy machine a start may take long, so several attempts are allowed.
    const found: number[] = [];
    while (found.length < 5 && Math.min(...found, 800) === 800) {
      nowMs += 10_001;
      found.push(await restartMs());
    }
    expect(Math.min(...found)).toBeLessThan(800);
  });

  it('is started again when a restart has failed', async () => {
    let attempts = 0;
    const child = await keep(() => {
      attempts += 1;
      return attempts === 2 ? Promise.reject(new Error('not this time')) : start();
    });
    process.kill(child.current.pid, 'SIGKILL');
    await waitFor(() => restarts === 1, { what: 'the restart' });
    expect(attempts).toBe(3);
    expect(reports).toContain('not this time');
  });

  it('that ends right after it was ready, before it is watched, is restarted', async () => {
    let attempts = 0;
    await keep(async () => {
      attempts += 1;
      const launched = await start(attempts === 1 ? ['-e', ''] : FOREVER);
      if (attempts === 1) await waitFor(() => launched.child.exitCode !== null, { what: 'its end' });
      return launched;
    });
    await waitFor(() => restarts === 1, { what: 'the restart' });
  });

  it('is not restarted after it was stopped, even if a restart was due', async () => {
    const child = await keep(() => start());
    process.kill(child.current.pid, 'SIGKILL');
    await waitFor(() => reports.length === 1, { what: 'the report of its exit' });
    await child.stop(1000);
    expect(restarts).toBe(0);
    expect(started).toHaveLength(1);
  });

  it('that ignores SIGTERM is killed at the deadline', async () => {
    const ignoring = ['-e', "process.on('SIGTERM', () => {}); process.stdout.write('x'); setInterval(() => {}, 1000)"];
    const child = await keep(async () => {
      const process_ = spawn(process.execPath, ignoring, { stdio: ['ignore', 'pipe', 'ignore'] });
      started.push(process_);
      await new Promise((resolve) => process_.stdout.once('data', resolve));
      return { child: process_, pid: process_.pid ?? 0 };
    });
    await child.stop(50);
    expect(child.current.child.signalCode).toBe('SIGKILL');
  });
});
