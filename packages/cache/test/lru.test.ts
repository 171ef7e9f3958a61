import { expect, it } from 'vitest';
import { createLru } from '../src/lru.js';

it('keeps up to its maximum of entries, and evicts the least recently used', () => {
  const cache = createLru<string, number>(3);
  for (const [index, key] of ['a', 'b', 'c'].entries()) cache.set(key, index);
  cache.get('a');
  cache.set('b', 7);
  cache.set('d', 3);
  expect([...cache.keys()].sort()).toEqual(['a', 'b', 'd']);
  expect(cache.get('b')).toBe(7);
  cache.delete('a');
  cache.clear();
  cache.set('e', 4);
  expect([...cache.entries()]).toEqual([['e', 4]]);
});

it('keeps values up to a sum of sizes, in which small ones count as one entry each', () => {
  const cache = createLru<string, string>(4, { each: 10, of: (value, key) => value.length + key.length });
  for (const key of ['a', 'b', 'c', 'd', 'e']) cache.set(key, 'small');
  expect([...cache.keys()].sort()).toEqual(['b', 'c', 'd', 'e']);
  cache.set('f', 'x'.repeat(24));
  expect([...cache.keys()].sort()).toEqual(['e', 'f']);
  cache.set('g', 'x'.repeat(40));
  expect([...cache.keys()].sort()).toEqual(['e', 'f']);
});

it('allocates no memory for entries before they are added', () => {
  const before = process.memoryUsage();
  const caches = Array.from({ length: 20 }, () => createLru<string, number>(100_000));
  const after = process.memoryUsage();
  expect(caches).toHaveLength(20);
  const taken = after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers;
  // With memory for all entries it would be 56 MB.
  expect(taken).toBeLessThan(4_000_000);
});
