import { hash } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createBloomFilter } from '../src/index.js';

const digest = (text: string) => hash('sha256', text, 'buffer').subarray(0, 8);

it('has every digest that was added, even beyond its capacity', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ minLength: 8, maxLength: 8 })), fc.nat(50), (digests, capacity) => {
      const filter = createBloomFilter(capacity);
      const joined = Buffer.concat(digests);
      for (let at = 0; at < joined.length; at += 8) filter.add(joined, at);
      expect(digests.every((bytes) => filter.mayHave(Buffer.from(bytes)))).toBe(true);
    }),
  );
});

it('at its capacity, has ten bits for a digest and at most 2 % false positives', () => {
  const filter = createBloomFilter(20_000);
  for (let index = 0; index < 20_000; index++) filter.add(digest(`added ${index}`));
  const passed = Array.from({ length: 20_000 }, (_, index) => filter.mayHave(digest(`other ${index}`)));
  expect(passed.filter(Boolean).length).toBeLessThan(400);
  expect(filter.bytes).toBeLessThanOrEqual(25_004);
});
