import { describe, expect, test } from 'vitest';
import { RESERVED_SLOTS, Slots } from '../../src/engine/slots.js';

const never = new AbortController().signal;
const immediate = () => new Promise(setImmediate);

/** Slots whose holders are recorded by name, in the order in which they got one. */
function recorded(shared: number) {
  const slots = new Slots(shared);
  const got: string[] = [];
  const releases = new Map<string, () => void>();
  return {
    got,
    /** @param owner the part of the name before the dash; an empty one is none */
    async take(name: string, signal = never): Promise<void> {
      const release = await slots.take(signal, name.split('-')[0] || undefined);
      got.push(name);
      releases.set(name, release);
    },
    async release(name: string): Promise<void> {
      releases.get(name)?.();
      await immediate();
    },
  };
}

async function takeAll({ take }: ReturnType<typeof recorded>, names: readonly string[]): Promise<void> {
  for (const name of names) void take(name);
  await immediate();
}

const several = (owner: string, count: number) => Array.from({ length: count }, (_, index) => `${owner}-${index}`);

describe('with eight shared slots', () => {
  test('many statements of several owners leave two slots to look-ups and inserts, which have no owner', async () => {
    const slots = recorded(8);
    await takeAll(
      slots,
      ['a', 'b', 'c'].flatMap((owner) => several(owner, 100)),
    );
    expect(slots.got).toHaveLength(8);
    await takeAll(slots, several('', RESERVED_SLOTS + 1));
    expect(slots.got.slice(8)).toEqual(['-0', '-1']);
    await slots.release('-1');
    expect(slots.got.slice(10)).toEqual(['-2']);
  });

  test('an owner alone gets six; another one, and a third, still find a slot at once', async () => {
    const slots = recorded(8);
    await takeAll(slots, [...several('a', 9), ...several('b', 9), ...several('c', 9)]);
    expect(slots.got).toEqual([...several('a', 6), 'b-0', 'c-0']);
  });

  test('a slot goes to the owner with the fewest, and among equals to them in turn', async () => {
    const slots = recorded(8);
    await takeAll(slots, [...several('a', 9), ...several('b', 9), ...several('c', 9), 'd-0']);
    await slots.release('a-0');
    expect(slots.got.slice(8)).toEqual(['d-0']);
    // Two slots are now kept for others.
    for (const name of ['a-1', 'a-2', 'a-3', 'a-4', 'a-5']) await slots.release(name);
    expect(slots.got.slice(9)).toEqual(['b-1', 'a-6', 'c-1']);
    for (const name of ['b-0', 'c-0', 'd-0']) await slots.release(name);
    expect(slots.got.slice(12)).toEqual(['b-2', 'a-7', 'c-2']);
  });

  test('without an owner all ten can be had, and those who wait get theirs in the order of arrival', async () => {
    const slots = recorded(8);
    await takeAll(slots, several('', 10));
    expect(slots.got).toHaveLength(10);
    await takeAll(slots, ['-10', 'a-0', '-11', 'a-1']);
    for (const name of several('', 4)) await slots.release(name);
    expect(slots.got.slice(10)).toEqual(['-10', 'a-0', '-11', 'a-1']);
  });

  test('a statement that is given up frees its place, and its owner is removed', async () => {
    const slots = recorded(8);
    await takeAll(slots, [...several('a', 6), 'b-0', 'c-0']);
    const giveUp = new AbortController();
    const waiting = slots.take('d-0', giveUp.signal);
    await takeAll(slots, ['e-0']);
    giveUp.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    await slots.release('a-0');
    expect(slots.got.slice(8)).toEqual(['e-0']);
  });

  test('a thousand waiting statements with owners are the most, and do not refuse those without', async () => {
    const slots = recorded(8);
    await takeAll(slots, [...several('a', 6), 'b-x', 'c-x', ...several('d', 500), ...several('e', 500)]);
    await expect(slots.take('f-0')).rejects.toMatchObject({ code: 202 });
    await slots.take('-0');
    expect(slots.got.at(-1)).toBe('-0');
  });
});

test.each([1, 2, 3])('with %i shared slots an owner alone gets all of them', async (shared) => {
  const slots = recorded(shared);
  await takeAll(slots, several('a', 5));
  expect(slots.got).toEqual(several('a', shared));
});
