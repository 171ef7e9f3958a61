import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { watchLoop } from './lib/loop-watch.js';

const loop = watchLoop();
afterAll(() => loop.stop());

function work(ms: number): void {
  const before = process.cpuUsage();
  const hasWorked = () => {
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000 >= ms;
  };
  while (!hasWorked());
}

it('detects a busy thread, in one piece and between two samples', async () => {
  loop.reset();
  work(200);
  expect(loop.longestMs()).toBeGreaterThan(100);
  loop.reset();
  await delay(10);
  work(200);
  await delay(10);
  expect(loop.longestMs()).toBeGreaterThan(100);
});

it('ignores work in small pieces and a sleeping thread', async () => {
  loop.reset();
  for (let piece = 0; piece < 20; piece++) {
    work(10);
    await delay(10);
  }
  // Like a thread that gets no CPU from the machine.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 150);
  await delay(10);
  expect(loop.longestMs()).toBeLessThan(100);
});
