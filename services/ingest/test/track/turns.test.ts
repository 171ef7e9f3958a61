import { setImmediate as immediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createTurns } from '../../src/track/browser/turns.js';

/** Begins works with the given names. `begun` lists those that have begun; `end` ends one of them. */
function start(works: readonly (readonly string[])[]) {
  const turns = createTurns();
  const begun: number[] = [];
  const ends = new Map<number, () => void>();
  const results = works.map((names, index) =>
    turns.run(names, () => {
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

it('works of one name run one after another, also after one that failed', async () => {
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

it('works without a common name do not wait for each other; one with two names waits for both', async () => {
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
