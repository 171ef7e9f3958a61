import fc from 'fast-check';
import { expect, it } from 'vitest';
import { storableBody } from '../../src/track/storable-body.js';

it('replaces only NUL and unpaired surrogates', () => {
  const text = fc.string({
    unit: fc.constantFrom('a', '\\', '"', '\\ud800', '\ud800', '\udc00', '😀', '\u0000', 'u', '\n'),
  });
  const clean = (value: string) => value.replace(/\p{Surrogate}|\0/gu, '\ufffd');
  fc.assert(
    fc.property(text, text, (key, value) => {
      expect(storableBody({ [`k${key}`]: [value, 1, null, true] })).toEqual({
        [`k${clean(key)}`]: [clean(value), 1, null, true],
      });
    }),
  );
});

it('accepts an absent body', () => {
  expect(storableBody(undefined)).toBeUndefined();
});
