import { expect, test } from 'vitest';
import { sharedRuns } from '../src/shared-runs.js';

/** Work whose runs the test ends, each with its function in `ends`. */
function aWork() {
  const ends: ((err?: Error) => void)[] = [];
  const work = () =>
    new Promise<void>((resolve, reject) => {
      ends.push((err) => (err === undefined ? resolve() : reject(err)));
    });
  return { ends, run: sharedRuns(work) };
}
const immediate = () => new Promise(setImmediate);

test('callers during a run share one that begins after it', async () => {
  const { ends, run } = aWork();
  const resolved: string[] = [];
  const call = (name: string) => void run().then(() => resolved.push(name));
  call('first');
  await immediate();
  call('second');
  call('third');
  await immediate();
  expect(ends).toHaveLength(1);
  ends[0]?.();
  await immediate();
  expect([ends.length, resolved]).toEqual([2, ['first']]);
  ends[1]?.();
  await immediate();
  expect([ends.length, resolved]).toEqual([2, ['first', 'second', 'third']]);
});

test('a run that fails rejects its callers only, and the next one begins', async () => {
  const { ends, run } = aWork();
  const first = run();
  await immediate();
  const second = run();
  ends[0]?.(new Error('away'));
  await expect(first).rejects.toThrow('away');
  await immediate();
  ends[1]?.();
  await expect(second).resolves.toBeUndefined();
});
