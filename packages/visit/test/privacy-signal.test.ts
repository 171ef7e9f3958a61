import { expect, it } from 'vitest';
import { asksForPrivacy } from '../src/index.js';

it.each([
  [{ 'sec-gpc': '1' }, true],
  [{ dnt: '1' }, true],
  // As Node.js joins the header of a browser and the same one of a proxy or an extension.
  [{ 'sec-gpc': '1, 1' }, true],
  [{ dnt: '0, 1' }, true],
  [{ 'sec-gpc': '0', dnt: '1,0' }, true],
  [{ 'sec-gpc': '0', dnt: '0' }, false],
  [{ 'sec-gpc': '', dnt: 'null' }, false],
  [{ dnt: '11, 10' }, false],
  [{}, false],
])('a visitor with %j asks for privacy: %s', (headers, expected) => {
  expect(asksForPrivacy(headers)).toBe(expected);
});
