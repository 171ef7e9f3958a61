import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createJobSlots, type JobSlot } from '../src/job-slots.js';

it('stopping a job that has its slot back leaves the queue of waiting jobs unchanged', async () => {
  const slots = createJobSlots(1, () => undefined);
  const stop = new AbortController();
  const taken: JobSlot[] = [];
  const takeNext = async () => void taken.push(slots.take());
  const first = slots.take();
  const firstIsBack = first.lend(takeNext, stop.signal);
  let isSecondBack = false;
  const second = taken[0]?.lend(takeNext, new AbortController().signal).then(() => {
    isSecondBack = true;
  });
  await nextTurn();
  taken[1]?.release();
  await firstIsBack;
  stop.abort(new Error('stopped'));
  first.release();
  await nextTurn();
  expect([second === undefined, isSecondBack]).toEqual([false, true]);
});
