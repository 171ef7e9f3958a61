import { expect, test } from 'vitest';
import { textChars } from '../../src/model/text-chars.js';

test('values without characters count, so that a batch of records that have only such values is bounded', () => {
  expect(textChars([[], {}, 0, null])).toBeGreaterThanOrEqual(4);
  expect(textChars(Array.from({ length: 250_000 }, () => []))).toBeGreaterThanOrEqual(8_000_000);
});

test('the characters of texts count at any depth', () => {
  expect(textChars({ a: ['xyz', { b: 'x'.repeat(1000) }] })).toBeGreaterThanOrEqual(1003);
});

test('long names of members count', () => {
  expect(textChars([{ ['x'.repeat(1000)]: 1 }])).toBeGreaterThanOrEqual(1000);
});
