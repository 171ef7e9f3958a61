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

it('a busy thread is seen, in one piece and between two looks', async () => {
  loop.reset();
  work(200);
  expect(loop.longestMs()).toBeGreaterThan(100);
  loop.reset();
  await delay(10);
  work(200);
  await delay(10);
  expect(loop.longestMs()).toBeGreaterThan(100);
});

it('neither much work in small pieces nor a thread that sleeps is one', async () => {
  loop.reset();
  for (let piece = 0; piece < 20; piece++) {
    work(10);
    await delay(10);
  }
  // As a thread stands that the machine gives no processor to.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 150);
  await delay(10);
  expect(loop.longestMs()).toBeLessThan(100);
});
