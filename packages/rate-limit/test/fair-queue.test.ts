import { expect, onTestFinished, test, vi } from 'vitest';
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

/** A task that runs until `end()` is called, and adds its name to `started`. */
function aTask(name = '', started: string[] = []) {
  let end: () => void = () => undefined;
  let isStarted = false;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return {
    run: () => {
      isStarted = true;
      started.push(name);
      return ended;
    },
    end: () => end(),
    isStarted: () => isStarted,
  };
}

/** Lets all pending callbacks run. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

test('at most runningPerOwnerMax tasks of an owner run at a time, the others follow in order of arrival', async () => {
  const queue = aQueue({ runningMax: 3 });
  const tasks = [aTask(), aTask(), aTask(), aTask()];
  const results = tasks.map((task) => queue.run('a', task.run, never()));
  await settle();
  expect(tasks.map((task) => task.isStarted())).toEqual([true, true, false, false]);
  tasks[1]!.end();
  await settle();
  expect(tasks.map((task) => task.isStarted())).toEqual([true, true, true, false]);
  for (const task of tasks) task.end();
  await Promise.all(results);
});

test('owners take turns, however many tasks each has waiting', async () => {
  const queue = aQueue({ runningMax: 1, runningPerOwnerMax: 1 });
  const started: string[] = [];
  const tasks = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'].map((name) => ({ name, task: aTask(name, started) }));
  const results = tasks.map(({ name, task }) => queue.run(name.slice(0, 1), task.run, never()));
  for (const { task } of tasks) task.end();
  await Promise.all(results);
  expect(started).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4']);
});

test('one owner with two hundred tasks leaves free slots for another', async () => {
  const queue = aQueue({ runningMax: 6, runningPerOwnerMax: 4 });
  const heavy = Array.from({ length: 200 }, () => aTask());
  const results = heavy.map((task) => queue.run('heavy', task.run, never()));
  const [page, another, third] = [aTask(), aTask(), aTask()];
  const pages = [page, another, third].map((task) => queue.run('light', task.run, never()));
  await settle();
  expect(heavy.filter((task) => task.isStarted())).toHaveLength(4);
  expect([page, another, third].map((task) => task.isStarted())).toEqual([true, false, false]);
  // The first task to end, of any owner, makes room for a waiting one of the owner that has fewer slots.
  heavy[2]!.end();
  await settle();
  expect([page, another, third].map((task) => task.isStarted())).toEqual([true, true, false]);
  expect(heavy.filter((task) => task.isStarted())).toHaveLength(4);
  for (const task of [...heavy, page, another, third]) task.end();
  await Promise.all([...results, ...pages]);
});

test('two owners whose tasks do not end leave a free slot for a third, and all three leave one for a fourth', async () => {
  const queue = aQueue({ runningMax: 6, runningPerOwnerMax: 4 });
  const tasksOf = (owner: string, count: number) => {
    const tasks = Array.from({ length: count }, () => aTask());
    const results = tasks.map((task) => queue.run(owner, task.run, never()));
    return { tasks, results, started: () => tasks.filter((task) => task.isStarted()).length };
  };
  const one = tasksOf('one', 10);
  const two = tasksOf('two', 10);
  await settle();
  expect([one.started(), two.started()]).toEqual([4, 1]);
  const third = tasksOf('third', 2);
  await settle();
  expect(third.started()).toBe(1);
  // The slot that becomes free is for a fourth owner, not for those that have slots.
  one.tasks[0]!.end();
  await settle();
  expect([one.started(), two.started(), third.started()]).toEqual([4, 1, 1]);
  const fourth = tasksOf('fourth', 1);
  await settle();
  expect(fourth.started()).toBe(1);
  const all = [one, two, third, fourth];
  for (const { tasks } of all) for (const task of tasks) task.end();
  await Promise.all(all.flatMap(({ results }) => results));
});

test('a failed task releases its slot', async () => {
  const queue = aQueue({ runningMax: 1, runningPerOwnerMax: 1 });
  const failing = queue.run('a', () => Promise.reject(new Error('broken')), never());
  const next = queue.run('b', async () => 'next', never());
  await expect(failing).rejects.toThrow('broken');
  expect(await next).toBe('next');
  expect(await queue.run('a', async () => 'after', never())).toBe('after');
});

test('too many waiting tasks, of one owner or in total, or too long a wait, give 429 with Retry-After', async () => {
  const queue = aQueue({ runningMax: 1, waitingPerOwnerMax: 1, waitingMax: 2, waitMsMax: 30 });
  const refused = { status: 429, code: 'rate_limit_exceeded', retryAfterSeconds: 1 };
  const holder = aTask();
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

test('a task whose signal aborts while it waits is removed from the queue and never started', async () => {
  const queue = aQueue({ runningMax: 1, waitingMax: 2 });
  const [holder, aborted, next] = [aTask(), aTask(), aTask()];
  const held = queue.run('a', holder.run, never());
  const caller = new AbortController();
  const aborting = queue.run('a', aborted.run, caller.signal);
  const following = queue.run('b', next.run, never());
  caller.abort(new Error('gone'));
  await expect(aborting).rejects.toThrow('gone');
  // Its place in the queue is free again.
  const third = queue.run('c', async () => 'third', never());
  holder.end();
  next.end();
  await Promise.all([held, following]);
  expect(await third).toBe('third');
  expect(aborted.isStarted()).toBe(false);
  await expect(queue.run('a', aborted.run, caller.signal)).rejects.toThrow('gone');
});

test('a task whose signal aborts after it has started is not counted out of the queue a second time', async () => {
  const queue = aQueue({ runningMax: 1, waitingMax: 1 });
  const [holder, started] = [aTask(), aTask()];
  const held = queue.run('a', holder.run, never());
  const caller = new AbortController();
  const running = queue.run('b', started.run, caller.signal);
  holder.end();
  await held;
  await settle();
  caller.abort(new Error('gone'));
  const waiting = queue.run('c', async () => 'waited', never());
  const refused = queue.run('d', async () => 'not refused', never()).catch((err: Error) => err.message);
  expect(await Promise.race([refused, settle()])).toMatch('Too many reads');
  started.end();
  await running;
  expect(await waiting).toBe('waited');
});

test('a task that has started is not counted as waiting, nor refused, when its longest wait has passed', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const queue = aQueue({ runningMax: 1, waitingMax: 1, waitMsMax: 1000 });
  const [holder, started] = [aTask(), aTask()];
  const held = queue.run('a', holder.run, never());
  const running = queue.run('b', started.run, never());
  holder.end();
  await held;
  await settle();
  vi.advanceTimersByTime(1000);
  const waiting = queue.run('c', async () => 'waited', never());
  const refused = queue.run('d', async () => 'not refused', never()).catch((err: Error) => err.message);
  expect(await Promise.race([refused, settle()])).toMatch('Too many reads');
  started.end();
  await running;
  expect(await waiting).toBe('waited');
});

test('a patient task is refused neither for the others that wait nor for the time that it waits', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const queue = aQueue({ runningMax: 1, waitingMax: 1, waitMsMax: 1000 });
  const holder = aTask();
  const held = queue.run('a', holder.run, never());
  const waiting = queue.run('b', async () => 'waited', never()).catch((err: Error) => err.message);
  const patient = queue.runPatiently('c', async () => 'in its turn', never());
  const caller = new AbortController();
  const aborted = queue.runPatiently('d', async () => 'started', caller.signal).catch((err: Error) => err.message);
  vi.advanceTimersByTime(60_000);
  expect(await waiting).toMatch('Too many reads');
  caller.abort(new Error('gone'));
  expect(await aborted).toBe('gone');
  holder.end();
  await held;
  expect(await patient).toBe('in its turn');
});
