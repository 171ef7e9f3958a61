import { ApiError } from '@waymark/contract';
import fc from 'fast-check';
import punycode from 'punycode/punycode.js';
import { describe, expect, it } from 'vitest';
import { checkKey, normaliseKey, storedKey } from '../../src/index.js';
import { otherKeyForms } from '../../src/model/link-key.js';

/** ASCII text whose last letter is a Kelvin sign in punycode, as often as `levels` says. */
function nested(levels: number, text = 'kkkkkkkkkkkkkkkk'): string {
  if (levels === 0) return text;
  return nested(levels - 1, `xn--${punycode.encode(text.replace(/k(?=[^k]*$)/, '\u212a'))}`);
}

/** Arbitrary texts, in which characters that have a meaning in keys are frequent. */
const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc
    .array(
      fc.constantFrom('a', 'B', 'é', 'É', 'ß', 'Σ', 'K', 'ı', '/', '.', '-', '_', 'xn--', 'XN--', '9ca', '💩', '0'),
      {
        maxLength: 12,
      },
    )
    .map((parts) => parts.join('')),
  fc
    .tuple(fc.nat({ max: 8 }), fc.constantFrom('', 'xn--', 'K', '\u212a', 'é'))
    .map(([levels, prefix]) => prefix + nested(levels)),
);

function statusOf(key: string): number {
  try {
    checkKey(key);
    return 200;
  } catch (err) {
    if (err instanceof ApiError) return err.status;
    throw err;
  }
}

const validKey = text.filter((key) => statusOf(key) === 200);

describe('the look-up form of a key', () => {
  it('is idempotent', () => {
    fc.assert(
      fc.property(text, (key) => {
        expect(normaliseKey(normaliseKey(key))).toBe(normaliseKey(key));
      }),
      {
        numRuns: 3000,
      },
    );
  });

  it('of the stored form equals that of the original, so that a link is found by either', () => {
    fc.assert(
      fc.property(text, (key) => {
        expect(normaliseKey(storedKey(key))).toBe(normaliseKey(key));
      }),
      {
        numRuns: 3000,
      },
    );
  });

  it('of a label that is decoded or normalised to more than any key has is the label in lower case', () => {
    for (const long of [`xn--${punycode.encode('\u{1d160}'.repeat(690))}`, '\u{1d160}'.repeat(250)]) {
      expect(normaliseKey(long)).toBe(long.normalize('NFC'));
      expect(normaliseKey(normaliseKey(long))).toBe(normaliseKey(long));
    }
  });

  it('of a valid key is ASCII, lower case and without outer slashes', () => {
    fc.assert(
      fc.property(validKey, (key) => {
        expect(normaliseKey(key)).toMatch(/^(?:[\x21-\x40\x5b-\x7e]|[^A-Z\s])+$/);
        expect(normaliseKey(key)).toMatch(/^[^/](?:.*[^/])?$/);
      }),
    );
  });

  it('ignores the case of letters', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[\w/.-]{1,20}$/), (key) => {
        expect(normaliseKey(key.toUpperCase())).toBe(normaliseKey(key.toLowerCase()));
      }),
    );
  });

  it.each([
    ['Try', 'try'],
    ['/a/b/', 'a/b'],
    ['', '_root'],
    ['/', '_root'],
    ['café', 'xn--caf-dma'],
    ['CAFÉ', 'xn--caf-dma'],
    ['Cafe\u0301', 'xn--caf-dma'],
    ['xn--caf-dma', 'xn--caf-dma'],
    ['menü/Größe.html', 'xn--men-joa/xn--gre-6ka8i.html'],
    ['💩', 'xn--ls8h'],
    ['xn--nonsense-', 'xn--nonsense-'],
    ['caf\u212a', 'cafk'],
    ['xn--caf-0k1a', 'cafk'],
  ])('of %s is %s', (key, lookup) => {
    expect(normaliseKey(key)).toBe(lookup);
  });
});

describe('the stored form of a key', () => {
  it.each([
    ['Try', 'Try'],
    ['/a/B/', 'a/B'],
    ['Café', 'xn--Caf-dma'],
    ['', '_root'],
    ['_ROOT', '_root'],
  ])('of %s is %s', (key, stored) => {
    expect(storedKey(key)).toBe(stored);
  });
});

describe('the other forms of a key', () => {
  /** All forms, and the key as dub encodes it. */
  const formsOf = (key: string) => [normaliseKey(key), ...otherKeyForms(key)];
  const asAtDub = (key: string) =>
    key
      .split('.')
      .map((part) => (/[\u0080-\uffff]/.test(part) ? `xn--${punycode.encode(part)}` : part))
      .join('.');
  const word = fc.constantFrom('a', 'my', 'spa', 'münchen', 'straße', 'x-ü', '日本', '🎉', 'pro', '7', 'ü', 'e-mail');
  const path = fc
    .array(fc.tuple(word, fc.constantFrom('/', '.')), { minLength: 1, maxLength: 5 })
    .map((parts) => parts.flat().slice(0, -1).join(''));

  it('lead from the key of dub to that of Waymark, and back', () => {
    fc.assert(
      fc.property(path, (key) => {
        expect(formsOf(asAtDub(key))).toContain(normaliseKey(key));
        expect(formsOf(storedKey(key))).toContain(normaliseKey(asAtDub(key)));
      }),
      { numRuns: 3000 },
    );
  });

  it('are outside ASCII, and never the look-up form itself', () => {
    fc.assert(
      fc.property(text, (key) => {
        for (const form of otherKeyForms(key)) {
          expect(form).toContain('xn--');
          expect(form).not.toBe(normaliseKey(key));
        }
      }),
      { numRuns: 3000 },
    );
  });

  it.each([
    ['a key in ASCII', 'blog/post', []],
    ['a single part', 'München', []],
    ['parts between full stops', 'größe.münchen', []],
    ['a path as typed', 'Blog/München', ['xn--blog/mnchen-yhb']],
    ['the path of an everyday link', storedKey('müller/straße'), ['xn--mller/strae-46a18a']],
    ['a path without characters of ASCII', storedKey('日本/東京'), ['xn--/-ux6az65enfb5j']],
    ['a path that is longer than any key', '/ü'.repeat(100), []],
    ['full stops of another script', '東京。大阪', [asAtDub('東京.大阪')]],
    ['what would be a name of the service', `xn--${punycode.encode('/webhoo\u212as')}`, []],
    ['a file that is reserved', 'robots。txt', []],
  ])('of %s: %s', (_what, key, forms) => {
    expect(otherKeyForms(key)).toEqual(forms);
  });
});

describe('checking a key', () => {
  it('throws nothing but ApiError', () => {
    fc.assert(
      fc.property(text, (key) => {
        expect([200, 403, 422]).toContain(statusOf(key));
      }),
    );
  });

  it.each([
    ['letters, digits and marks', 'aZ0_-/.x', 200],
    ['the root', '_root', 200],
    ['accents', 'crème-brûlée', 200],
    ['emoji with joiners', '👩‍👩‍👧', 200],
    ['a flag', '🇫🇷', 200],
    ['a keycap', '1️⃣', 200],
    ['a space', 'a b', 422],
    ['a question mark', 'a?b', 422],
    ['a hash, though it is an emoji part', 'a#b', 422],
    ['an asterisk, though it is an emoji part', '*', 422],
    ['a percent sign', 'a%20', 422],
    ['a lone surrogate', 'a\ud800', 422],
    ['an astral letter that is no emoji', '𝒳', 422],
    ['an underscore in front', '_hidden', 422],
    ['.well-known', '.well-known/x', 422],
    ['.php', 'wp-login.PHP', 422],
    ['.php7', 'x.php7', 422],
    ['a dot segment', 'a/../b', 422],
    ['a single dot', '.', 422],
    ['the icon of a site', 'favicon.ico', 403],
    ['the pages of a site', 'sitemap.xml', 403],
    ['the rules for robots', 'robots.txt', 403],
    ['the manifest of an app', 'manifest.webmanifest', 403],
    ['the same under its other name', 'manifest.json', 403],
    ['the apps of a site', 'apple-app-site-association', 403],
    ['the browser script', 'analytics/script.site-visit.js', 403],
    ['what pages post events to', 'Track/Lead/Client', 403],
    ['other keys beside those', 'track/order', 200],
    ['a reserved file in capitals', 'Favicon.ICO', 403],
    ['as many characters as allowed', 'x'.repeat(190), 200],
    ['one more', 'x'.repeat(191), 422],
    ['as many in punycode', storedKey('日本'.repeat(95)), 200],
    ['one more in punycode', storedKey(`${'日本'.repeat(95)}x`), 422],
    ['more characters in fewer of punycode', storedKey('💩'.repeat(96)), 200],
    ['the same not in punycode', '💩'.repeat(96), 422],
    ['a longer text that only looks like punycode', `xn--${'x'.repeat(187)}-`, 422],
  ])('%s: %s answers %i', (_what, key, status) => {
    expect(statusOf(key)).toBe(status);
  });
});
