import fc from 'fast-check';
import { expect, it } from 'vitest';
import { cutText } from '../src/index.js';

it('a text that is cut stays well-formed, and is at most one character shorter than the limit', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('a', 'é', '😀') }), fc.nat(30), (text, charsMax) => {
      const cut = cutText(text, charsMax);
      // Throws for half a pair.
      expect(decodeURIComponent(encodeURIComponent(cut))).toBe(cut);
      expect(text.startsWith(cut)).toBe(true);
      if (text.length <= charsMax) expect(cut).toBe(text);
      else expect([charsMax - 1, charsMax]).toContain(cut.length);
    }),
  );
});
