import { setImmediate as immediate } from 'node:timers/promises';
import { createDataLoader } from '@waymark/cache';
import { describe, expect, test } from 'vitest';
import { createTotalsCache } from '../../src/totals/totals-cache.js';

/** Totals that increase by one with each read; `b` has none. */
function aReader() {
  const reads: string[][] = [];
  let nowMs = 0;
  let gate: Promise<void> | undefined;
  let isSubscribed = true;
  const look = createDataLoader<readonly [workspaceId: string, id: string], number>({
    identify: (key) => key.join('/'),
    group: ([workspaceId]) => workspaceId,
    async load(keys) {
      reads.push(keys.map(([, id]) => id));
      const value = reads.length;
      await gate;
      return new Map(keys.filter(([, id]) => id !== 'b').map((key) => [key.join('/'), value]));
    },
    batchSizeMax: 100,
    concurrentReadsMax: 10,
  });
  const totals = createTotalsCache<number>({
    readOne: (workspaceId, id) => look([workspaceId, id]),
    isSubscribed: () => isSubscribed,
    now: () => nowMs,
  });
  return {
    ...totals,
    reads,
    subscribe: (is: boolean) => {
      isSubscribed = is;
    },
    pass: (ms: number) => {
      nowMs += ms;
    },
    /** Blocks reads until the returned function is called. */
    hold() {
      let open = () => {};
      gate = new Promise((resolve) => {
        open = resolve;
      });
      return open;
    },
    fail(err: Error) {
      gate = Promise.reject(err);
      gate.catch(() => undefined);
      return () => {
        gate = undefined;
      };
    },
  };
}

const ofWorkspace = (workspaceId: string, ...ids: string[]) => [{ workspaceId, ids }];

describe('cached totals', () => {
  test('are read once, including those of links without events', async () => {
    const { read, reads } = aReader();
    expect(await read('ws', ['a', 'b'])).toEqual(new Map([['a', 1]]));
    expect(await read('ws', ['b', 'a', 'c'])).toEqual(new Map(Object.entries({ a: 1, c: 2 })));
    expect(reads).toEqual([['a', 'b'], ['c']]);
  });

  test('are read again once their change is published, in their workspace only', async () => {
    const { read, reads, onChange } = aReader();
    for (const workspaceId of ['ws', 'other']) await read(workspaceId, ['a', 'b', 'c']);
    onChange(ofWorkspace('ws', 'a', 'b', 'd'));
    expect(await read('ws', ['a', 'b', 'c'])).toEqual(new Map(Object.entries({ a: 3, c: 1 })));
    await read('other', ['a', 'b', 'c']);
    expect(reads.slice(2)).toEqual([['a', 'b']]);
  });

  test('that change during their read are not cached', async () => {
    const { read, reads, onChange, hold } = aReader();
    const open = hold();
    const reading = read('ws', ['a', 'c']);
    await immediate();
    onChange(ofWorkspace('ws', 'a'));
    open();
    await reading;
    await read('ws', ['a', 'c']);
    expect(reads).toEqual([['a', 'c'], ['a']]);
  });

  test('of a read that began after a change are cached, even while an older read is in progress', async () => {
    const { read, onChange, hold } = aReader();
    const openFirst = hold();
    const first = read('ws', ['a']);
    await immediate();
    onChange(ofWorkspace('ws', 'a'));
    const openSecond = hold();
    const second = read('ws', ['a']);
    await immediate();
    openSecond();
    expect((await second).get('a')).toBe(2);
    openFirst();
    expect((await first).get('a')).toBe(1);
    expect((await read('ws', ['a'])).get('a')).toBe(2);
  });

  test('are all read again when changes may have been missed, and reads in progress are not cached', async () => {
    const { read, reads, onGap, hold } = aReader();
    await read('ws', ['a']);
    const open = hold();
    const reading = read('ws', ['c']);
    await immediate();
    onGap();
    open();
    await reading;
    await read('ws', ['a', 'c']);
    expect(reads.at(-1)).toEqual(['a', 'c']);
  });

  test('are served for ten seconds', async () => {
    const { read, reads, pass } = aReader();
    await read('ws', ['a']);
    pass(9_999);
    await read('ws', ['a']);
    expect(reads).toHaveLength(1);
    pass(1);
    expect((await read('ws', ['a'])).get('a')).toBe(2);
  });

  test('of a failed read are read again', async () => {
    const { read, fail } = aReader();
    const work = fail(new Error('away'));
    await expect(read('ws', ['a'])).rejects.toThrow('away');
    work();
    expect((await read('ws', ['a'])).get('a')).toBe(2);
  });

  test('are read every time while changes are not received', async () => {
    const { read, reads, subscribe } = aReader();
    await read('ws', ['a']);
    subscribe(false);
    for (let time = 0; time < 2; time++) await read('ws', ['a', 'c']);
    expect(reads).toEqual([['a'], ['a', 'c'], ['a', 'c']]);
    subscribe(true);
    expect((await read('ws', ['a'])).get('a')).toBe(1);
  });
});
