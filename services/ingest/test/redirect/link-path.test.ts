import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { visitedPath } from '../../src/redirect/address/link-path.js';

const LINK = { key: 'Promo' };

describe('the visited path of a link', () => {
  it.each([
    ['promo', '/promo'],
    ['PROMO/', '/PROMO'],
    ['', '/'],
    ['a/b%2Fc', '/a/b%2Fc'],
    ['/evil.com', '/evil.com'],
    ['%2Fevil.com', '/%2Fevil.com'],
  ])('%s is %s', (rawPath, path) => {
    expect(visitedPath(LINK, rawPath)).toBe(path);
  });

  it.each(['promo; Domain=evil.com', 'promo\r\nx: y', '\\evil.com', 'a,b', 'a b', 'caf\u00e9', 'x'.repeat(1024)])(
    '%j is not valid in a cookie, so the link’s own path is used',
    (rawPath) => {
      expect(visitedPath(LINK, rawPath)).toBe('/Promo');
    },
  );

  it('is always a path of this host, and never terminates a cookie attribute or a header', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.webPath(), fc.string({ unit: 'binary' })), (rawPath) => {
        expect(visitedPath(LINK, rawPath)).toMatch(/^\/(?!\/)[\x21-\x7e]*$/);
        expect(visitedPath(LINK, rawPath)).not.toMatch(/[;,\\]/);
      }),
    );
  });
});
