import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { caughtUp, type ReplicaState } from '../../src/shards/every-replica.js';
import {
  canContinue,
  firstPlacement,
  LOGICAL_SHARDS,
  logicalShard,
  type Placement,
  shardingKey,
} from '../../src/shards/placement.js';

const workspaceId = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const shards = fc.integer({ min: 1, max: 40 });
const shardOf = (placement: Placement, id: bigint) => placement[logicalShard(id)];
/** What `Distributed` does with the value of a sharding key when each shard has the weight 1. */
const chosenBy = (key: string, id: bigint, count: number) => {
  const slots = /\[(.*)\]/.exec(key)?.[1]?.split(', ').map(Number) ?? [];
  return ((slots[Number(id % BigInt(LOGICAL_SHARDS))] ?? Number.NaN) % count) + 1;
};

describe('the placement', () => {
  test('leaves every workspace where it is when shards are added to the cluster', () => {
    fc.assert(
      fc.property(shards, fc.integer({ min: 0, max: 20 }), workspaceId, (count, added, id) => {
        const placement = firstPlacement(count);
        const key = shardingKey('links', placement);
        expect(chosenBy(key, id, count)).toBe(shardOf(placement, id));
        expect(chosenBy(key, id, count + added)).toBe(shardOf(placement, id));
      }),
    );
  });

  test('gives all shards equally many logical ones, or some of them one more', () => {
    fc.assert(
      fc.property(shards, (count) => {
        const sizes = Array.from({ length: count }, (_, index) =>
          firstPlacement(count).filter((at) => at === index + 1),
        );
        const lengths = sizes.map(({ length }) => length);
        expect(Math.max(...lengths) - Math.min(...lengths)).toBeLessThanOrEqual(1);
      }),
    );
  });

  test('is the same as workspace modulo shards where canContinue is true', () => {
    fc.assert(
      fc.property(shards, workspaceId, (count, id) => {
        fc.pre(canContinue(count));
        expect(shardOf(firstPlacement(count), id)).toBe(Number(id % BigInt(count)) + 1);
      }),
    );
    expect([1, 2, 3, 4, 5, 6, 7, 8, 10, 12].every(canContinue)).toBe(true);
  });
});

describe('a replica has all that was inserted before a time', () => {
  const state = (given: Partial<ReplicaState>): ReplicaState => ({
    ...{ server: 's', path: '/t/1', insertsInQueue: 0, oldestInsert: 0, logPointer: 8, logEnd: 7 },
    ...given,
  });
  const isComplete = (given: Partial<ReplicaState>, logEnd = 7) =>
    caughtUp([state(given)], 1000, new Map([['/t/1', logEnd]])).length === 1;

  test('when it has taken the whole log and waits for no insert', () => {
    expect(isComplete({})).toBe(true);
    expect(isComplete({ logPointer: 9, logEnd: 8 })).toBe(true);
  });

  test('not while the log is longer on another replica', () => {
    expect(isComplete({ logPointer: 7, logEnd: 6 })).toBe(false);
    expect(isComplete({ logPointer: 0 }, 0)).toBe(false);
  });

  test('or when the log is empty, once that cannot be a first entry that no replica has taken', () => {
    const empty = [state({ logPointer: 0, logEnd: 0 })];
    const ends = new Map([['/t/1', 0]]);
    expect([caughtUp(empty, 1000, ends).length, caughtUp(empty, 1000, ends, true).length]).toEqual([0, 1]);
    expect(caughtUp([state({ logPointer: 0, logEnd: 3 })], 1000, new Map([['/t/1', 3]]), true)).toEqual([]);
  });

  test('not while it waits for an insert from before, and while clocks leave that open; later ones do not matter', () => {
    expect(isComplete({ insertsInQueue: 1, oldestInsert: 990 })).toBe(false);
    expect(isComplete({ insertsInQueue: 1, oldestInsert: 1003 })).toBe(false);
    expect(isComplete({ insertsInQueue: 1, oldestInsert: 1006 })).toBe(true);
  });
});
