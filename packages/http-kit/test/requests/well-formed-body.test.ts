import fc from 'fast-check';
import { expect, it } from 'vitest';
import { wellFormedBody } from '../../src/requests/well-formed-body.js';

it('replaces halves of surrogate pairs, in keys and values, and nothing else', () => {
  const text = fc.string({
    unit: fc.constantFrom('a', '\\', '"', '\\ud800', '\ud800', '\udc00', '😀', '\u0000', 'u', '\n'),
  });
  const clean = (value: string) => value.replace(/\p{Surrogate}/gu, '\ufffd');
  fc.assert(
    fc.property(text, text, fc.boolean(), (key, value, isEscaped) => {
      const body = { [`k${key}`]: [value, 1, null, true] };
      const json = JSON.stringify(body);
      const sent = isEscaped ? json.replaceAll('😀', '\\ud83d\\ude00') : json;
      expect(wellFormedBody(sent, JSON.parse(sent))).toEqual({ [`k${clean(key)}`]: [clean(value), 1, null, true] });
    }),
  );
});
