import { describe, expect, test } from 'vitest';
import { createKnownTotals } from '../../src/totals/totals-cache.js';

/** Totals that a read finds one higher each time; `b` has none. */
function aReader() {
  const reads: string[][] = [];
  let nowMs = 0;
  let gate: Promise<void> | undefined;
  let isHearing = true;
  const totals = createKnownTotals<number>({
    readTotals: async (_workspaceId, ids) => {
      reads.push([...ids]);
      const value = reads.length;
      await gate;
      return new Map(ids.filter((id) => id !== 'b').map((id) => [id, value]));
    },
    isHearing: () => isHearing,
    now: () => nowMs,
  });
  return {
    ...totals,
    reads,
    hear: (does: boolean) => {
      isHearing = does;
    },
    pass: (ms: number) => {
      nowMs += ms;
    },
    /** Reads wait until it is opened. */
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

describe('known totals', () => {
  test('are read once, those without events as well', async () => {
    const { read, reads } = aReader();
    expect(await read('ws', ['a', 'b'])).toEqual(new Map([['a', 1]]));
    expect(await read('ws', ['b', 'a', 'c'])).toEqual(new Map(Object.entries({ a: 1, c: 2 })));
    expect(reads).toEqual([['a', 'b'], ['c']]);
  });

  test('are read again once they are announced, in their workspace', async () => {
    const { read, reads, changed } = aReader();
    for (const workspaceId of ['ws', 'other']) await read(workspaceId, ['a', 'b', 'c']);
    changed(ofWorkspace('ws', 'a', 'b', 'd'));
    expect(await read('ws', ['a', 'b', 'c'])).toEqual(new Map(Object.entries({ a: 3, c: 1 })));
    await read('other', ['a', 'b', 'c']);
    expect(reads.slice(2)).toEqual([['a', 'b']]);
  });

  test('that are announced while they are read are not kept', async () => {
    const { read, reads, changed, hold } = aReader();
    const open = hold();
    const reading = read('ws', ['a', 'c']);
    changed(ofWorkspace('ws', 'a'));
    open();
    await reading;
    await read('ws', ['a', 'c']);
    expect(reads).toEqual([['a', 'c'], ['a']]);
  });

  test('of a read that began after the announcement are kept, though an older one is still under way', async () => {
    const { read, changed, hold } = aReader();
    const openFirst = hold();
    const first = read('ws', ['a']);
    changed(ofWorkspace('ws', 'a'));
    const openSecond = hold();
    const second = read('ws', ['a']);
    openSecond();
    expect((await second).get('a')).toBe(2);
    openFirst();
    expect((await first).get('a')).toBe(1);
    expect((await read('ws', ['a'])).get('a')).toBe(2);
  });

  test('are all read again when announcements may have been missed, those being read not kept', async () => {
    const { read, reads, missed, hold } = aReader();
    await read('ws', ['a']);
    const open = hold();
    const reading = read('ws', ['c']);
    missed();
    open();
    await reading;
    await read('ws', ['a', 'c']);
    expect(reads.at(-1)).toEqual(['a', 'c']);
  });

  test('are believed for ten seconds', async () => {
    const { read, reads, pass } = aReader();
    await read('ws', ['a']);
    pass(9_999);
    await read('ws', ['a']);
    expect(reads).toHaveLength(1);
    pass(1);
    expect((await read('ws', ['a'])).get('a')).toBe(2);
  });

  test('of a read that failed are asked for again', async () => {
    const { read, fail } = aReader();
    const work = fail(new Error('away'));
    await expect(read('ws', ['a'])).rejects.toThrow('away');
    work();
    expect((await read('ws', ['a'])).get('a')).toBe(2);
  });

  test('are read each time while announcements do not arrive', async () => {
    const { read, reads, hear } = aReader();
    await read('ws', ['a']);
    hear(false);
    for (let time = 0; time < 2; time++) await read('ws', ['a', 'c']);
    expect(reads).toEqual([['a'], ['a', 'c'], ['a', 'c']]);
    hear(true);
    expect((await read('ws', ['a'])).get('a')).toBe(1);
  });
});
