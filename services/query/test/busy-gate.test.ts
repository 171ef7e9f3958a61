import { expect, test } from 'vitest';
import { createBusyGate } from '../src/busy-gate.js';

const never = new AbortController().signal;

/** Work that goes on until it is told to end. */
function aWork() {
  let end: () => void = () => undefined;
  let isStarted = false;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return {
    run: () => {
      isStarted = true;
      return ended;
    },
    end: () => end(),
    isStarted: () => isStarted,
  };
}

/** Lets everything that can go on go on. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

test('no more than so many run at a time, the others follow in the order they came', async () => {
  const gate = createBusyGate({ runningMax: 2, waitingMax: 10, waitMsMax: 60_000 });
  const works = [aWork(), aWork(), aWork(), aWork()];
  const results = works.map((work) => gate.run(work.run, never));
  await settle();
  expect(works.map((work) => work.isStarted())).toEqual([true, true, false, false]);
  works[1]!.end();
  await settle();
  expect(works.map((work) => work.isStarted())).toEqual([true, true, true, false]);
  for (const work of works) work.end();
  await Promise.all(results);
});

test('work that fails gives its place back', async () => {
  const gate = createBusyGate({ runningMax: 1, waitingMax: 10, waitMsMax: 60_000 });
  const failing = gate.run(() => Promise.reject(new Error('broken')), never);
  const next = gate.run(async () => 'next', never);
  await expect(failing).rejects.toThrow('broken');
  expect(await next).toBe('next');
  expect(await gate.run(async () => 'after', never)).toBe('after');
});

test('too many waiting, or too long a wait, is 429 with the time to come back', async () => {
  const gate = createBusyGate({ runningMax: 1, waitingMax: 1, waitMsMax: 20 });
  const holder = aWork();
  const held = gate.run(holder.run, never);
  const waiting = gate.run(async () => undefined, never);
  await expect(gate.run(async () => undefined, never)).rejects.toMatchObject({ status: 429, retryAfterSeconds: 1 });
  await expect(waiting).rejects.toMatchObject({ status: 429, retryAfterSeconds: 1 });
  holder.end();
  await held;
  expect(await gate.run(async () => 'free again', never)).toBe('free again');
});

test('a caller that leaves while waiting leaves the line, and its work is never begun', async () => {
  const gate = createBusyGate({ runningMax: 1, waitingMax: 10, waitMsMax: 60_000 });
  const [holder, left, next] = [aWork(), aWork(), aWork()];
  const held = gate.run(holder.run, never);
  const caller = new AbortController();
  const leaving = gate.run(left.run, caller.signal);
  const following = gate.run(next.run, never);
  caller.abort(new Error('gone'));
  await expect(leaving).rejects.toThrow('gone');
  holder.end();
  next.end();
  await Promise.all([held, following]);
  expect(left.isStarted()).toBe(false);
  await expect(gate.run(left.run, caller.signal)).rejects.toThrow('gone');
});
