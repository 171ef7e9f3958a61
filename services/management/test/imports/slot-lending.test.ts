import { expect, it } from 'vitest';
import { createSlotLending } from '../../src/imports/slot-lending.js';

it('a slot is kept during short pauses for a minute, lent during longer and later ones, and then kept again', async () => {
  const { signal } = new AbortController();
  let nowMs = 0;
  let lent = 0;
  let pauses = 0;
  const slot = {
    async lend<T>(work: () => Promise<T>): Promise<T> {
      lent++;
      return work();
    },
  };
  const lending = createSlotLending(slot, () => nowMs);
  const pause = (ms: number) => lending.during(ms, async () => void pauses++, signal);
  nowMs = 60_000;
  await pause(4_999);
  expect([pauses, lent]).toEqual([1, 0]);
  await pause(5_000);
  expect([pauses, lent]).toEqual([2, 1]);
  nowMs += 60_001;
  await pause(1_000);
  await pause(1_000);
  expect([pauses, lent, lending.isDue()]).toEqual([4, 2, false]);
  nowMs += 600_001;
  expect(lending.isDue()).toBe(true);
  await lending.offer(signal);
  expect([pauses, lent, lending.isDue()]).toEqual([4, 3, false]);
  // The clock is set back by a day.
  nowMs -= 24 * 3_600_000;
  expect(lending.isDue()).toBe(true);
  await pause(1_000);
  expect([pauses, lent, lending.isDue()]).toEqual([5, 4, false]);
});
