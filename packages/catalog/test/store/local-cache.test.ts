import { expect, it } from 'vitest';
import { createLocalNames, createLocalRecords } from '../../src/store/local-cache.js';

/** The copies of records in a process. */

const BOUND = { entriesMax: 10, charsEach: 100 };
const stored = (version: number) => ({ version, record: `v${version}` });

it('an older version never replaces a newer one', () => {
  const records = createLocalRecords<string>({ bound: BOUND, staleMsMax: 0, now: () => 0 });
  records.put('a', stored(2), 0, 20);
  records.put('a', stored(1), 0, 20);
  expect(records.fresh('a')).toEqual(stored(2));
  records.raise('a', 3);
  expect(records.fresh('a')).toBeUndefined();
  records.put('a', stored(2), 0, 20);
  expect(records.fresh('a')).toBeUndefined();
  records.put('a', stored(3), 0, 20);
  expect(records.fresh('a')).toEqual(stored(3));
});

it('are fresh for a second after their read began, and usable as stale copies for as long as their type allows', () => {
  let nowMs = 10_000;
  const records = createLocalRecords<string>({ bound: BOUND, staleMsMax: 5000, now: () => nowMs });
  records.put('a', stored(1), 9500, 20);
  nowMs = 10_499;
  expect(records.fresh('a')).toEqual(stored(1));
  nowMs = 10_500;
  expect(records.fresh('a')).toBeUndefined();
  expect(records.stale('a')).toEqual(stored(1));
  nowMs = 15_500;
  expect(records.stale('a')).toBeUndefined();
});

it.each([1, 5_000])('are not fresh again when the clock is set back by %i ms to before their read', (backMs) => {
  let nowMs = 10_000;
  const records = createLocalRecords<string>({ bound: BOUND, staleMsMax: 5000, now: () => nowMs });
  const names = createLocalNames(10, () => nowMs);
  records.put('a', stored(1), nowMs, 20);
  names.put('a', undefined, nowMs);
  expect([records.fresh('a'), names.fresh('a')]).toEqual([stored(1), expect.anything()]);
  nowMs -= backMs;
  expect([records.fresh('a'), names.fresh('a')]).toEqual([undefined, undefined]);
});

it('are not fresh again when the clock is set back after a newer version was published', () => {
  let nowMs = 10_000;
  const records = createLocalRecords<string>({ bound: BOUND, staleMsMax: 5000, now: () => nowMs });
  records.put('a', stored(1), nowMs, 20);
  nowMs = 10_500;
  records.raise('a', 2);
  nowMs = 10_400;
  expect(records.fresh('a')).toBeUndefined();
});

it('are reused for the same version for ten minutes after they were parsed', () => {
  let nowMs = 0;
  const records = createLocalRecords<string>({ bound: BOUND, staleMsMax: 0, now: () => nowMs });
  const parsed = stored(1);
  records.put('a', parsed, 0, 20);
  nowMs = 599_999;
  expect(records.parsed('a', 1)).toBe(parsed);
  expect(records.parsed('a', 2)).toBeUndefined();
  records.put('a', parsed, nowMs, 20);
  nowMs = 600_000;
  expect(records.fresh('a')).toBe(parsed);
  expect(records.parsed('a', 1)).toBeUndefined();
});

it('are kept up to a number of characters together, however few they are', () => {
  const records = createLocalRecords<string>({ bound: BOUND, staleMsMax: 0, now: () => 0 });
  const keys = Array.from({ length: 12 }, (_each, index) => `key-${index}`);
  const kept = () => keys.filter((key) => records.fresh(key) !== undefined);
  for (const key of keys) records.put(key, stored(1), 0, 100);
  expect(kept()).toEqual(keys.slice(2));
  const large = stored(2);
  records.put('key-11', large, 0, 801);
  expect(kept()).toEqual(['key-10', 'key-11']);
  // The same object again, of which Redis had the version only.
  records.put('key-11', large, 0, 0);
  records.put('key-0', stored(1), 0, 1);
  expect(kept()).toEqual(['key-0', 'key-11']);
});

it('are unchanged until an invalidation arrives or may have been missed', () => {
  let nowMs = 0;
  const records = createLocalRecords<string>({ bound: BOUND, staleMsMax: 5000, now: () => nowMs });
  for (const key of ['a', 'b', 'c']) records.put(key, stored(1), 0, 20);
  nowMs = 3000;
  records.raise('a', 2);
  expect(records.unchanged('a')).toBeUndefined();
  expect(records.stale('a')).toEqual(stored(1));
  expect(records.unchanged('b')).toEqual(stored(1));
  nowMs = 6001;
  expect(records.unchanged('b')).toBeUndefined();
  nowMs = 3000;
  records.expireAll();
  expect(records.unchanged('c')).toBeUndefined();
  expect(records.stale('c')).toEqual(stored(1));
});
