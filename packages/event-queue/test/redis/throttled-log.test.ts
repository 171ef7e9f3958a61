import { afterEach, expect, it, vi } from 'vitest';
import { throttled } from '../../src/redis/throttled-log.js';

afterEach(() => void vi.useRealTimers());

it('one line is logged in an interval, with the number of those before it, also after the system time was set back', () => {
  vi.useFakeTimers({ toFake: ['performance', 'Date'] });
  const lines: object[] = [];
  const log = throttled((context) => lines.push(context), 1000);
  const logThrice = () => {
    for (const line of [1, 2, 3]) log({ line }, 'failed');
  };
  logThrice();
  expect(lines).toEqual([{ line: 1 }]);
  vi.setSystemTime(Date.now() - 3_600_000);
  vi.advanceTimersByTime(999);
  logThrice();
  expect(lines).toHaveLength(1);
  vi.advanceTimersByTime(1);
  logThrice();
  expect(lines).toEqual([{ line: 1 }, { line: 1, suppressedLines: 5 }]);
});
