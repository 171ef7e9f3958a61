import { expect, it } from 'vitest';
import { askedPauseMs } from '../src/asked-pause.js';

it.each([
  ['5', 5_000],
  ['999999999', 600_000],
  ['soon', 0],
  [null, 0],
])('a command that is asked to retry after %j waits %d ms', (header, ms) => {
  expect(askedPauseMs(header)).toBe(ms);
});
