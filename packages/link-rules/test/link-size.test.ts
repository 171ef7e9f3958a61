import { expect, it } from 'vitest';
import { checkLinkSize } from '../src/link-size.js';

const CHARS_MAX = 65_000;

/** A link with that many characters as JSON. */
function aLink(chars: number, more: object = {}) {
  const fields = { url: 'https://acme.com/', comments: '', ...more };
  return { ...fields, comments: 'x'.repeat(chars - JSON.stringify(fields).length) };
}

it('a new link has at most 65,000 characters', () => {
  expect(() => checkLinkSize(aLink(CHARS_MAX))).not.toThrow();
  expect(() => checkLinkSize(aLink(CHARS_MAX + 1))).toThrow('comments: makes the link too long');
});

it('no change makes a link larger than that', () => {
  expect(() => checkLinkSize(aLink(CHARS_MAX), aLink(1000))).not.toThrow();
  expect(() => checkLinkSize(aLink(CHARS_MAX + 1), aLink(CHARS_MAX))).toThrow('too long');
});

it('a link of an earlier release that is larger may be changed, but may not grow', () => {
  const before = aLink(70_000);
  for (const chars of [70_000, 69_999]) expect(() => checkLinkSize(aLink(chars), before)).not.toThrow();
  expect(() => checkLinkSize(aLink(70_001), before)).toThrow('too long');
});

it('the image does not count', () => {
  const image = `data:image/png;base64,${'A'.repeat(CHARS_MAX)}`;
  expect(() => checkLinkSize({ ...aLink(CHARS_MAX), image }, aLink(1000))).not.toThrow();
});
