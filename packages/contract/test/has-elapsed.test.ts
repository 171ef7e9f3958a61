import { expect, it } from 'vitest';
import { hasElapsed } from '../src/index.js';

it.each([
  ['has not, within the duration', 99, false],
  ['has, at its end', 100, true],
  ['has not, if the clock was set back by less than the duration', -99, false],
  ['has, if the clock was set back by the duration or more', -100, true],
])('a duration of 100 ms %s', (_case, sinceThenMs, isElapsed) => {
  expect(hasElapsed(5_000, 100, 5_000 + sinceThenMs)).toBe(isElapsed);
});

it('every duration has passed since minus infinity', () => {
  expect(hasElapsed(Number.NEGATIVE_INFINITY, 1e15, 5_000)).toBe(true);
});
