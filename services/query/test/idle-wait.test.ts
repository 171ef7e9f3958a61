import { expect, test } from 'vitest';
import { createIdleWait } from '../src/idle-wait.js';

/** Longer than any test. */
const LONG_MS = 600_000;

/** Whether the promise has settled once all pending callbacks have run. */
async function hasSettled(promise: Promise<void>): Promise<boolean> {
  let settled = false;
  promise.then(() => {
    settled = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  return settled;
}

test('waits for everything that runs, and not at all while nothing does', async () => {
  const idle = createIdleWait();
  await idle.untilIdle(LONG_MS);
  const [endFirst, endSecond] = [idle.begin(), idle.begin()];
  const waiting = [idle.untilIdle(LONG_MS), idle.untilIdle(LONG_MS)];
  endFirst();
  endFirst();
  expect(await hasSettled(Promise.race(waiting))).toBe(false);
  endSecond();
  await Promise.all(waiting);
  await idle.untilIdle(LONG_MS);
});

test('waits no longer than it may', async () => {
  const idle = createIdleWait();
  idle.begin();
  const start = performance.now();
  await idle.untilIdle(20);
  expect(performance.now() - start).toBeGreaterThan(15);
});

test('quiet only when nothing has run for a moment: a caller in a loop keeps exports waiting', async () => {
  const idle = createIdleWait();
  expect(idle.isQuiet()).toBe(true);
  await idle.untilQuiet(LONG_MS);
  let quiet = false;
  let endLast = idle.begin();
  const later = idle.untilQuiet(LONG_MS).then(() => {
    quiet = true;
  });
  for (let call = 0; call < 20; call += 1) {
    endLast();
    endLast = idle.begin();
    await new Promise((resolve) => setImmediate(resolve));
    expect(idle.isQuiet()).toBe(false);
  }
  expect(quiet).toBe(false);
  endLast();
  await later;
  expect(idle.isQuiet()).toBe(true);
});

test('waits for quiet no longer than it may', async () => {
  const idle = createIdleWait();
  idle.begin();
  const start = performance.now();
  await idle.untilQuiet(20);
  expect(performance.now() - start).toBeGreaterThan(15);
});
