import { expect, test } from 'vitest';
import { createFairQueue, type FairQueueOptions } from '../src/fair-queue.js';

const never = () => new AbortController().signal;

function aQueue(options: Partial<FairQueueOptions> = {}) {
  return createFairQueue({
    runningMax: 2,
    runningPerOwnerMax: 2,
    waitingMax: 1000,
    waitingPerOwnerMax: 1000,
    waitMsMax: 60_000,
    ...options,
  });
}

/** Work that goes on until it is told to end, and says in `begun` that it has begun. */
function aWork(name = '', begun: string[] = []) {
  let end: () => void = () => undefined;
  let isStarted = false;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return {
    run: () => {
      isStarted = true;
      begun.push(name);
      return ended;
    },
    end: () => end(),
    isStarted: () => isStarted,
  };
}

/** Lets everything that can go on go on. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

test('no more than so many run at a time, the others of an owner follow in the order they came', async () => {
  const queue = aQueue();
  const works = [aWork(), aWork(), aWork(), aWork()];
  const results = works.map((work) => queue.run('a', work.run, never()));
  await settle();
  expect(works.map((work) => work.isStarted())).toEqual([true, true, false, false]);
  works[1]!.end();
  await settle();
  expect(works.map((work) => work.isStarted())).toEqual([true, true, true, false]);
  for (const work of works) work.end();
  await Promise.all(results);
});

test('owners take turns, whatever each of them has waiting', async () => {
  const queue = aQueue({ runningMax: 1, runningPerOwnerMax: 1 });
  const begun: string[] = [];
  const works = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'].map((name) => ({ name, work: aWork(name, begun) }));
  const results = works.map(({ name, work }) => queue.run(name.slice(0, 1), work.run, never()));
  for (const { work } of works) work.end();
  await Promise.all(results);
  expect(begun).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4']);
});

test('one owner with two hundred works leaves places that another finds at once', async () => {
  const queue = aQueue({ runningMax: 6, runningPerOwnerMax: 4 });
  const heavy = Array.from({ length: 200 }, () => aWork());
  const results = heavy.map((work) => queue.run('heavy', work.run, never()));
  const [page, another, third] = [aWork(), aWork(), aWork()];
  const pages = [page, another, third].map((work) => queue.run('light', work.run, never()));
  await settle();
  expect(heavy.filter((work) => work.isStarted())).toHaveLength(4);
  expect([page, another, third].map((work) => work.isStarted())).toEqual([true, true, false]);
  // All places are taken: whoever ends first, of whichever owner, makes room for the one that waits.
  heavy[2]!.end();
  await settle();
  expect(third.isStarted()).toBe(true);
  expect(heavy.filter((work) => work.isStarted())).toHaveLength(4);
  for (const work of [...heavy, page, another, third]) work.end();
  await Promise.all([...results, ...pages]);
});

test('work that fails gives its place back', async () => {
  const queue = aQueue({ runningMax: 1, runningPerOwnerMax: 1 });
  const failing = queue.run('a', () => Promise.reject(new Error('broken')), never());
  const next = queue.run('b', async () => 'next', never());
  await expect(failing).rejects.toThrow('broken');
  expect(await next).toBe('next');
  expect(await queue.run('a', async () => 'after', never())).toBe('after');
});

test('too many waiting, of one owner or of all, or too long a wait, is 429 with the time to come back', async () => {
  const queue = aQueue({ runningMax: 1, waitingPerOwnerMax: 1, waitingMax: 2, waitMsMax: 30 });
  const refused = { status: 429, code: 'rate_limit_exceeded', retryAfterSeconds: 1 };
  const holder = aWork();
  const held = queue.run('a', holder.run, never());
  const waiting = queue.run('a', async () => undefined, never());
  await expect(queue.run('a', async () => undefined, never())).rejects.toMatchObject(refused);
  const others = queue.run('b', async () => undefined, never());
  await expect(queue.run('c', async () => undefined, never())).rejects.toMatchObject(refused);
  await expect(waiting).rejects.toMatchObject(refused);
  await expect(others).rejects.toMatchObject(refused);
  holder.end();
  await held;
  expect(await queue.run('a', async () => 'free again', never())).toBe('free again');
});

test('a caller that leaves while waiting leaves the line, and its work is never begun', async () => {
  const queue = aQueue({ runningMax: 1, waitingMax: 2 });
  const [holder, left, next] = [aWork(), aWork(), aWork()];
  const held = queue.run('a', holder.run, never());
  const caller = new AbortController();
  const leaving = queue.run('a', left.run, caller.signal);
  const following = queue.run('b', next.run, never());
  caller.abort(new Error('gone'));
  await expect(leaving).rejects.toThrow('gone');
  // Its place in the line is free again.
  const third = queue.run('c', async () => 'third', never());
  holder.end();
  next.end();
  await Promise.all([held, following]);
  expect(await third).toBe('third');
  expect(left.isStarted()).toBe(false);
  await expect(queue.run('a', left.run, caller.signal)).rejects.toThrow('gone');
});
