import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { createRecentChanges } from '../src/index.js';

const KEYS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'] as const;
const KEYS_MAX = 4;

const change = fc.oneof(
  { weight: 9, arbitrary: fc.uniqueArray(fc.constantFrom(...KEYS), { maxLength: 3 }) },
  { weight: 1, arbitrary: fc.constant('all' as const) },
);

/** The keys that the changes have changed, without repetition. */
const changedKeys = (changes: readonly (readonly string[] | 'all')[]) =>
  new Set(changes.flatMap((one) => (one === 'all' ? KEYS : one)));

it('a key that has changed since is always reported, and another one only after a gap or many other changes', () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 40 }), (changes) => {
      const recent = createRecentChanges(KEYS_MAX);
      const counts = [recent.count()];
      for (const one of changes) {
        if (one === 'all') recent.addAll();
        else recent.add(one);
        counts.push(recent.count());
      }
      for (const [index, count] of counts.entries()) {
        const since = changes.slice(index);
        const changed = changedKeys(since);
        const isRemembered = !since.includes('all') && changed.size <= KEYS_MAX;
        for (const key of KEYS) {
          if (changed.has(key)) expect(recent.isChangedSince(key, count)).toBe(true);
          else if (isRemembered) expect(recent.isChangedSince(key, count)).toBe(false);
        }
      }
    }),
    { numRuns: 1000 },
  );
});

it('keeps a bounded number of keys', () => {
  const recent = createRecentChanges(KEYS_MAX);
  recent.add(['first']);
  const before = recent.count();
  for (let index = 0; index < 3 * KEYS_MAX; index++) recent.add([`other-${index}`]);
  expect(recent.isChangedSince('unchanged', before)).toBe(true);
  expect(recent.isChangedSince('unchanged', recent.count())).toBe(false);
});
