import { formatResourceId, resourceName, TAG_COLORS } from '@waymark/contract';
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

it('each tag counts as one with the longest name, because it may be renamed', () => {
  const tagIds = Array.from({ length: 145 }, (_, index) => formatResourceId('tag', String(2n ** 63n + BigInt(index))));
  expect(() => checkLinkSize(aLink(4000, { tagIds: tagIds.slice(5) }))).not.toThrow();
  expect(() => checkLinkSize(aLink(4000, { tagIds }))).toThrow('tagIds: makes the link too long');
  const name = resourceName.parse('"'.repeat(190));
  expect(resourceName.safeParse('a\u0001').success).toBe(false);
  const shown = JSON.stringify(TAG_COLORS.map((color) => ({ id: tagIds[0], name, color })));
  expect(shown.length / TAG_COLORS.length).toBeLessThanOrEqual(450);
  // One that has so many already may get others.
  expect(() => checkLinkSize(aLink(4000, { tagIds }), aLink(4000, { tagIds }))).not.toThrow();
  // Its other fields may grow as far as without the names of its tags, and it gets no further tag.
  expect(() => checkLinkSize(aLink(5000, { tagIds }), aLink(4000, { tagIds }))).not.toThrow();
  expect(() => checkLinkSize(aLink(CHARS_MAX + 1, { tagIds }), aLink(4000, { tagIds }))).toThrow('too long');
  const more = [...tagIds, 'tag_1'];
  expect(() => checkLinkSize(aLink(4000, { tagIds: more }), aLink(4000, { tagIds }))).toThrow('tagIds: makes');
});
