import { setImmediate as immediate } from 'node:timers/promises';
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
  await immediate();
  taken[1]?.release();
  await firstIsBack;
  stop.abort(new Error('stopped'));
  first.release();
  slots.settle();
  await immediate();
  expect([second === undefined, isSecondBack]).toEqual([false, true]);
});

it('free slots go to jobs that have lent theirs and to new ones in turn', async () => {
  let offers = 0;
  const slots = createJobSlots(1, () => void offers++);
  const { signal } = new AbortController();
  const first = slots.take();
  let second = first;
  let third = first;
  const firstIsBack = first.lend(async () => {
    second = slots.take();
  }, signal);
  await immediate();
  const secondIsBack = second.lend(async () => undefined, signal);
  await firstIsBack;
  expect([offers, slots.hasFree()]).toEqual([1, false]);
  // Now it is the turn of new jobs, although the second one waits.
  const firstIsBackAgain = first.lend(async () => {
    third = slots.take();
    slots.settle();
  }, signal);
  await immediate();
  expect(offers).toBe(2);
  third.release();
  await secondIsBack;
  // No new job takes what it is offered.
  second.release();
  expect([offers, slots.hasFree()]).toEqual([3, true]);
  slots.settle();
  await firstIsBackAgain;
  expect(slots.hasFree()).toBe(false);
});

it('a job that is stopped while it waits for a slot does not take it', async () => {
  const slots = createJobSlots(1, () => undefined);
  const first = slots.take();
  const stop = new AbortController();
  let second = first;
  const waiting = first.lend(async () => {
    second = slots.take();
  }, stop.signal);
  const refused = expect(waiting).rejects.toThrow('stopped');
  await immediate();
  stop.abort(new Error('stopped'));
  await refused;
  first.release();
  expect(slots.hasFree()).toBe(false);
  second.release();
  expect(slots.hasFree()).toBe(true);
});
