import { describe, expect, test } from 'vitest';
import { pauseBeforePoll } from '../../src/schedules/schedule-runner.js';

const POLLED_MS = 1_000_000;
const NOW_MS = POLLED_MS + 50;

describe('schedules are polled again', () => {
  test('after a minute when none has to be tried again earlier', () => {
    expect(pauseBeforePoll([], POLLED_MS, NOW_MS)).toBe(60_000);
    expect(pauseBeforePoll([NOW_MS + 90_000], POLLED_MS, NOW_MS)).toBe(60_000);
  });

  test('when the first one may be tried again, even if that was during the last poll', () => {
    expect(pauseBeforePoll([NOW_MS + 9000, NOW_MS + 5000], POLLED_MS, NOW_MS)).toBe(5000);
    expect(pauseBeforePoll([POLLED_MS + 1], POLLED_MS, NOW_MS)).toBe(100);
  });

  test('not earlier for one that could be tried at the last poll and was not due, as when another process has exported it', () => {
    expect(pauseBeforePoll([POLLED_MS - 1, POLLED_MS], POLLED_MS, NOW_MS)).toBe(60_000);
    expect(pauseBeforePoll([POLLED_MS - 1, NOW_MS + 5000], POLLED_MS, NOW_MS)).toBe(5000);
  });
});
