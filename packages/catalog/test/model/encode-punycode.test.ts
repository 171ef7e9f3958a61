import fc from 'fast-check';
import punycode from 'punycode/punycode.js';
import { describe, expect, it } from 'vitest';
import { encodePunycode } from '../../src/model/encode-punycode.js';

describe('a text in punycode', () => {
  it('is the same as that of the package, which takes quadratic time', () => {
    const unit = fc.oneof(
      fc.integer({ min: 0, max: 0x7f }),
      fc.integer({ min: 0xe0, max: 0xff }),
      fc.integer({ min: 0x4e00, max: 0x4f00 }),
      fc.integer({ min: 0x80, max: 0x10_ffff }),
    );
    const text = fc
      .array(unit, { maxLength: 200, size: 'max' })
      .map((points) => points.map((point) => String.fromCodePoint(point)).join(''));
    fc.assert(
      fc.property(text, (one) => {
        expect(encodePunycode(one)).toBe(punycode.encode(one));
      }),
      { numRuns: 1000 },
    );
  });

  it.each([
    ['', ''],
    ['abc', 'abc-'],
    ['bücher', 'bcher-kva'],
    ['他们为什么不说中文', 'ihqwcrb4cv8a8dqg056pqjye'],
    ['3年B組金八先生', '3B-ww4c5e180e575a65lsy2b'],
  ])('of %s is %s', (text, encoded) => {
    expect(encodePunycode(text)).toBe(encoded);
  });
});
