import { expect, it } from 'vitest';
import { retryAfterMs } from '../src/index.js';

const NOW_MS = Date.parse('2026-01-31T12:00:00Z');

it.each([
  ['5', 5_000],
  ['Sat, 31 Jan 2026 12:00:30 GMT', 30_000],
  ['Sat, 31 Jan 2026 11:00:00 GMT', 0],
  ['999999999', 999_999_999_000],
  ['soon', undefined],
  ['', undefined],
  [null, undefined],
])('Retry-After %j means a wait of %s ms', (header, ms) => {
  expect(retryAfterMs(header, NOW_MS)).toBe(ms);
});
