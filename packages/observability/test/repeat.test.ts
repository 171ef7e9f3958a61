import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { repeat } from '../src/repeat.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const INTERVALS = { intervalMs: 1_000, restIntervalMs: 10_000 };
const MINUTES = 60_000;

it('work runs at every interval while its results are in use, and rarely when they were not used for two minutes', async () => {
  const work = vi.fn(async () => undefined);
  const repetition = repeat(work, INTERVALS);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(work).toHaveBeenCalledTimes(11);
  await vi.advanceTimersByTimeAsync(3 * MINUTES);
  work.mockClear();
  await vi.advanceTimersByTimeAsync(2 * MINUTES);
  expect(work).toHaveBeenCalledTimes(12);
  await repetition.close();
});

it('the first read after a rest makes it run at once, and often again', async () => {
  const work = vi.fn(async () => undefined);
  const repetition = repeat(work, INTERVALS);
  await vi.advanceTimersByTimeAsync(4 * MINUTES + 5_000);
  work.mockClear();
  repetition.use();
  expect(work).toHaveBeenCalledTimes(1);
  repetition.use();
  expect(work).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(work).toHaveBeenCalledTimes(6);
  await repetition.close();
});

it('runs never overlap, and none begins after close, which waits for the last', async () => {
  let running = 0;
  let most = 0;
  let finish = () => {};
  const work = vi.fn(async () => {
    most = Math.max(most, ++running);
    await new Promise<void>((resolve) => {
      finish = resolve;
    });
    running -= 1;
  });
  const repetition = repeat(work, INTERVALS);
  await vi.advanceTimersByTimeAsync(5_000);
  repetition.use();
  finish();
  await vi.advanceTimersByTimeAsync(5_000);
  expect([running, most, work.mock.calls.length]).toEqual([1, 1, 2]);
  const closing = repetition.close();
  finish();
  await closing;
  await vi.advanceTimersByTimeAsync(5_000);
  repetition.use();
  expect([running, work.mock.calls.length]).toEqual([0, 2]);
});
