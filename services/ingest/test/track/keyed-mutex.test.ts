import { setImmediate as immediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createKeyedMutex } from '../../src/track/browser/keyed-mutex.js';

/** Starts tasks with the given keys. `begun` lists those that have begun; `end` ends one of them. */
function start(tasks: readonly (readonly string[])[]) {
  const mutex = createKeyedMutex();
  const begun: number[] = [];
  const ends = new Map<number, () => void>();
  const results = tasks.map((keys, index) =>
    mutex.run(keys, () => {
      begun.push(index);
      return new Promise<number>((resolve, reject) => {
        ends.set(index, () => (index === 0 ? reject(new Error('failed')) : resolve(index)));
      });
    }),
  );
  const end = async (index: number) => {
    ends.get(index)?.();
    await Promise.allSettled([results[index]]);
    await immediate();
  };
  return { begun, end, results };
}

it('tasks of one key run one after another, also after one that failed', async () => {
  const { begun, end, results } = start(Array.from({ length: 3 }, () => ['a']));
  for (const index of [0, 1, 2]) {
    await immediate();
    expect(begun.at(-1)).toBe(index);
    await end(index);
  }
  const outcomes = await Promise.allSettled(results);
  expect(outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : 'failed'))).toEqual([
    'failed',
    1,
    2,
  ]);
});

it('tasks without a common key do not wait for each other; one with two keys waits for both', async () => {
  const { begun, end } = start([['a'], ['b'], ['a', 'b'], ['c'], ['b']]);
  await immediate();
  expect(begun).toEqual([0, 1, 3]);
  await end(1);
  expect(begun).toEqual([0, 1, 3]);
  await end(0);
  expect(begun).toEqual([0, 1, 3, 2]);
  await end(2);
  expect(begun).toEqual([0, 1, 3, 2, 4]);
});

it('beyond thirty of one key, tasks are refused until one has ended', async () => {
  const { end, results } = start(Array.from({ length: 32 }, (_, index) => (index === 31 ? ['a', 'b'] : ['a'])));
  const refused = { code: 'rate_limit_exceeded' };
  await expect(results[30]).rejects.toMatchObject(refused);
  await expect(results[31]).rejects.toMatchObject(refused);
  for (let index = 0; index < 30; index++) {
    await immediate();
    await end(index);
  }
  await expect(results[29]).resolves.toBe(29);
});

it('once one of thirty tasks has ended, another is accepted, and a refused one is in no queue', async () => {
  const mutex = createKeyedMutex();
  let end: () => void = () => undefined;
  const first = mutex.run(['a'], () => new Promise<void>((resolve) => (end = resolve)));
  const others = Array.from({ length: 29 }, () => mutex.run(['a'], async () => 'done'));
  await expect(mutex.run(['b', 'a'], async () => 'refused')).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
  expect(await mutex.run(['b'], async () => 'not behind it')).toBe('not behind it');
  end();
  await Promise.all([first, ...others]);
  expect(await mutex.run(['a'], async () => 'again')).toBe('again');
});
