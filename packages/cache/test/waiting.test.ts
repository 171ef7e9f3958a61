import { setImmediate as immediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { answerWithin, pollUntil, withTimeout } from '../src/index.js';

const never = new Promise<string>(() => undefined);

it('withTimeout returns the outcome of work that ends within the limit', async () => {
  expect(await withTimeout(Promise.resolve('done'), 10_000, () => 'late')).toBe('done');
  await expect(withTimeout(Promise.reject(new Error('failed')), 10_000, () => 'late')).rejects.toThrow('failed');
});

it('withTimeout returns the fallback, or throws the error, once the limit has passed', async () => {
  expect(await withTimeout(never, 1, () => 'late')).toBe('late');
  const fail = () => {
    throw new Error('too late');
  };
  await expect(withTimeout(never, -1, fail)).rejects.toThrow('too late');
});

it('withTimeout returns an answer that arrived while the process was blocked', async () => {
  // From here on, expired timers run before data that has arrived.
  await immediate();
  const answered = new Promise<string>((resolve) => setImmediate(resolve, 'in time'));
  const result = withTimeout(answered, 1, () => 'late');
  const untilMs = performance.now() + 5;
  while (performance.now() < untilMs);
  expect(await result).toBe('in time');
});

it('answerWithin returns the outcome, or an error with the limit in seconds once it has passed', async () => {
  expect(await answerWithin(Promise.resolve('done'), 10_000)).toBe('done');
  await expect(answerWithin(never, 1)).rejects.toThrow(/^no answer within 0\.001 s$/);
  await expect(answerWithin(never, 1, 'redis')).rejects.toThrow(/^redis: no answer within 0\.001 s$/);
});

it('pollUntil calls isDone until it returns true', async () => {
  let attempts = 0;
  await pollUntil(async () => ++attempts === 3, { everyMs: 1, withinMs: 60_000 });
  expect(attempts).toBe(3);
});

it('pollUntil makes no attempt when there is no time for one', async () => {
  let attempts = 0;
  await pollUntil(async () => ++attempts > 1, { everyMs: 1, withinMs: 0 });
  expect(attempts).toBe(0);
});
