import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { waitFor } from '../src/index.js';

test('a wait ends with the value of its condition, which may throw before', async () => {
  let calls = 0;
  const condition = () => {
    calls += 1;
    if (calls === 1) throw new Error('not yet');
    return calls === 3 && 'the value';
  };
  expect(await waitFor(condition, { what: 'the third call' })).toBe('the value');
});

test('the error of a wait that takes too long has what it was for, the details at its end, and the last error', async () => {
  let output = '';
  const condition = () => {
    output += 'x';
    throw new Error('refused');
  };
  const wait = waitFor(condition, { what: 'a process', timeoutMs: 1, details: () => output });
  await expect(wait).rejects.toThrow(/^waited 1 ms for a process:\nx+$/);
  await expect(wait).rejects.toMatchObject({ cause: new Error('refused') });
});

test('a failure ends the wait, however much time is left', async () => {
  let hasEnded = false;
  const condition = () => {
    hasEnded = true;
    return false;
  };
  const failure = () => (hasEnded ? 'the process ended' : undefined);
  await expect(waitFor(condition, { what: 'its port', failure })).rejects.toThrow(
    'the process ended, so there is no waiting for its port',
  );
});

test('a condition that takes long is tried for a third of the wait', async () => {
  let tries = 0;
  const condition = async () => {
    tries += 1;
    await delay(100);
    return false;
  };
  await expect(waitFor(condition, { what: 'nothing', timeoutMs: 2000 })).rejects.toThrow('waited 2000 ms');
  // Seven in two seconds, and the one after the last pause.
  expect(tries).toBeLessThanOrEqual(8);
});
