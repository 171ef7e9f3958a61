import { ApiError } from '@waymark/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseMultiValue } from '../src/parse/multi-value.js';

test.each([
  ['', undefined],
  ['-', undefined],
  [',,,', undefined],
  ['-,,,', undefined],
  ['US', { include: ['US'], exclude: [] }],
  ['US,BR,FR', { include: ['US', 'BR', 'FR'], exclude: [] }],
  ['-US', { include: [], exclude: ['US'] }],
  ['-US,BR', { include: [], exclude: ['US', 'BR'] }],
  ['US,,BR,', { include: ['US', 'BR'], exclude: [] }],
  ['US,-BR', { include: ['US'], exclude: ['BR'] }],
  ['-US,-BR', { include: [], exclude: ['US', 'BR'] }],
  ['US,US,-BR,-BR', { include: ['US'], exclude: ['BR'] }],
  [' US , BR', { include: [' US ', ' BR'], exclude: [] }],
  ['US,-', { include: ['US'], exclude: [] }],
  [',-US', { include: [], exclude: ['US'] }],
  ['--US', { include: [], exclude: ['-US'] }],
])('the list %j is parsed as %j', (text, expected) => {
  expect(parseMultiValue('country', text)).toEqual(expected);
});

test('an absent parameter is no filter', () => {
  expect(parseMultiValue('country', undefined)).toBeUndefined();
});

test('a thousand items are accepted, one more is refused with the name of the parameter', () => {
  const items = (count: number) => Array.from({ length: count }, (_, index) => `c${index}`).join(',');
  expect(parseMultiValue('city', items(1000))?.include).toHaveLength(1000);
  expect(() => parseMultiValue('city', items(1001))).toThrow(
    expect.objectContaining({ code: 'unprocessable_entity', message: expect.stringContaining('city') }),
  );
});

test('any text gives non-empty values without commas, or no filter; those after a leading - are excluded', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('-', ',', 'a', 'b', ' ', '"'), maxLength: 30 }), (text) => {
      const lists = parseMultiValue('city', text);
      const values = [...(lists?.include ?? []), ...(lists?.exclude ?? [])];
      expect(values.every((value) => value !== '' && !value.includes(','))).toBe(true);
      expect(lists === undefined).toBe(values.length === 0);
      if (text.startsWith('-')) expect(lists?.include ?? []).toEqual([]);
    }),
  );
});

test('parsing throws only ApiError', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 3000, unit: fc.constantFrom(',', 'x', '-') }), (text) => {
      try {
        parseMultiValue('url', text);
      } catch (err) {
        expect(err).toBeInstanceOf(ApiError);
      }
    }),
  );
});
