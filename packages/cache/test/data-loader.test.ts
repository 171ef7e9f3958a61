import { setImmediate as immediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createDataLoader, type DataLoaderOptions } from '../src/index.js';

/** A loader of `<group>/<name>` keys. The test resolves its reads one by one; names that begin with `no` have no value. */
function aLoader({
  batchSizeMax = 10,
  concurrentReadsMax = 1,
  ...limits
}: Partial<Pick<DataLoaderOptions<string, string>, 'batchSizeMax' | 'concurrentReadsMax' | 'weight'>> = {}) {
  const reads: { keys: readonly string[]; answer(): void; fail(err: Error): void }[] = [];
  const load = createDataLoader<string, string>({
    identify: (key) => key,
    group: (key) => key.split('/')[0] ?? '',
    load: (keys) =>
      new Promise((resolve, reject) => {
        const found = keys.filter((key) => !key.includes('/no'));
        reads.push({
          keys,
          answer: () => resolve(new Map(found.map((key) => [key, `value of ${key}`]))),
          fail: reject,
        });
      }),
    batchSizeMax,
    concurrentReadsMax,
    ...limits,
  });
  const keysRead = () => reads.map(({ keys }) => keys);
  return { load, reads, keysRead };
}

it('keys looked up in the same turn of the event loop are one read, with each key once', async () => {
  const { load, reads, keysRead } = aLoader();
  const values = Promise.all(['a/1', 'a/2', 'a/1', 'a/none'].map(load));
  await immediate();
  reads[0]?.answer();
  expect(await values).toEqual(['value of a/1', 'value of a/2', 'value of a/1', undefined]);
  expect(keysRead()).toEqual([['a/1', 'a/2', 'a/none']]);
});

it('a look-up during a read of the same key reads again: no answer is older than its call', async () => {
  const { load, reads, keysRead } = aLoader({ concurrentReadsMax: 2 });
  const first = load('a/1');
  await immediate();
  const second = load('a/1');
  await immediate();
  expect(keysRead()).toEqual([['a/1'], ['a/1']]);
  for (const { answer } of reads) answer();
  await Promise.all([first, second]);
});

it('limits the keys of a read to one group and the batch size, and the number of concurrent reads', async () => {
  const { load, reads, keysRead } = aLoader({ batchSizeMax: 2 });
  const values = Promise.all(['a/1', 'b/1', 'a/2', 'a/3'].map(load));
  for (const expected of [['a/1', 'a/2'], ['b/1'], ['a/3']]) {
    await expect.poll(() => keysRead().at(-1)).toEqual(expected);
    await immediate();
    expect(keysRead().at(-1)).toEqual(expected);
    reads.at(-1)?.answer();
  }
  expect(await values).toHaveLength(4);
});

it('limits the weight of the keys of a read; a single key above the limit is read alone', async () => {
  const { load, reads, keysRead } = aLoader({ weight: { of: (key) => key.length, max: 6 } });
  const values = Promise.all(['a/1', 'a/2', 'a/3', 'a/heavier', 'a/4'].map(load));
  for (let count = 1; count <= 4; count++) {
    await expect.poll(() => reads.length).toBe(count);
    reads[count - 1]?.answer();
  }
  expect(await values).toHaveLength(5);
  expect(keysRead()).toEqual([['a/1', 'a/2'], ['a/3'], ['a/heavier'], ['a/4']]);
});

it('a failed read rejects only the look-ups of its own keys', async () => {
  const { load, reads } = aLoader({ concurrentReadsMax: 2 });
  const [one, other] = [load('a/1'), load('b/1')];
  await expect.poll(() => reads.length).toBe(2);
  reads[0]?.fail(new Error('away'));
  reads[1]?.answer();
  await expect(one).rejects.toThrow('away');
  expect(await other).toBe('value of b/1');
});
