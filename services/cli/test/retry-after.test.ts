import { expect, it } from 'vitest';
import { retryAfterMs } from '../src/retry-after.js';

const NOW_MS = Date.parse('2026-01-31T12:00:00Z');

it.each([
  ['5', 5_000],
  ['Sat, 31 Jan 2026 12:00:30 GMT', 30_000],
  ['Sat, 31 Jan 2026 11:00:00 GMT', 0],
  ['999999999', 600_000],
  ['soon', 0],
  [null, 0],
])('Retry-After %j asks to wait %d ms', (header, ms) => {
  expect(retryAfterMs(header, NOW_MS)).toBe(ms);
});
