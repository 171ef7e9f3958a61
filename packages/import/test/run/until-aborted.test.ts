import { setImmediate as immediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { orAborted, untilAborted } from '../../src/run/until-aborted.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

it('keeps no item in memory that was passed on', async () => {
  const passed: WeakRef<object>[] = [];
  async function* pages() {
    for (let page = 0; page < 20; page++) yield { page };
  }
  const reading = untilAborted(pages(), new AbortController().signal);
  for (let page = 0; page < 20; page++) {
    const { value } = await reading.next();
    passed.push(new WeakRef(value as object));
  }
  await immediate();
  collectGarbage();
  // The latest item may still be referenced by the generator.
  expect(passed.slice(0, -2).filter((item) => item.deref() !== undefined)).toEqual([]);
  await reading.return(undefined);
});

it('work is not waited for when the signal is aborted already', async () => {
  const never = new Promise<void>(() => undefined);
  await expect(orAborted(never, AbortSignal.abort(new Error('stopped')))).rejects.toThrow('stopped');
});

it('ends with the reason of the signal while the source is waiting, and closes the source', async () => {
  const stop = new AbortController();
  let isClosed = false;
  const source: AsyncIterable<number> = {
    [Symbol.asyncIterator]: () => ({
      next: () => new Promise(() => undefined),
      return: async () => {
        isClosed = true;
        return { done: true, value: undefined };
      },
    }),
  };
  const ended = untilAborted(source, stop.signal).next();
  stop.abort(new Error('stopped'));
  await expect(ended).rejects.toThrow('stopped');
  expect(isClosed).toBe(true);
});
