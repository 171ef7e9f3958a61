import { expect, test } from 'vitest';
import { memoize } from '../src/events/memoize.js';

/** A memoized function whose result contains how often it ran; caches `max` results. */
function aMemoized(max = 10) {
  let times = 0;
  const compute = (source: { name: string }, ...args: readonly unknown[]) => {
    times += 1;
    return `${source.name} ${args.length}, run ${times}`;
  };
  return memoize(compute, { sizeMax: max * 100, sizeOf: () => 100 });
}

test('the function runs once for the same source and arguments', () => {
  const run = aMemoized();
  const [link, counters] = [{ name: 'link' }, { clicks: 1 }];
  expect(run(link, counters)).toBe('link 1, run 1');
  expect(run(link, counters)).toBe('link 1, run 1');
  expect(run({ name: 'link' }, counters)).toBe('link 1, run 2');
});

test.each([
  ['another argument', [{ clicks: 1 }]],
  ['one argument more', [undefined, undefined]],
  ['one argument less', []],
])('the function runs again for %s', (_what, args) => {
  const run = aMemoized();
  const link = { name: 'link' };
  expect(run(link, undefined)).toBe('link 1, run 1');
  expect(run(link, ...args)).toBe(`link ${args.length}, run 2`);
});

test('the most recent results are cached', () => {
  const run = aMemoized(2);
  const [one, two, three] = ['one', 'two', 'three'].map((name) => ({ name }));
  for (const source of [one, two, three]) run(source!);
  expect(run(two!)).toBe('two 0, run 2');
  expect(run(one!)).toBe('one 0, run 4');
});
