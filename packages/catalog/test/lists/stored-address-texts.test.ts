import { expect, it } from 'vitest';
import { storedAddressTexts } from '../../src/lists/stored-address-texts.js';
import { storedKey } from '../../src/model/link-key.js';

/** The most texts that ClickHouse can search for at once. */
const TEXTS_MAX = 255;

it.each([
  ['no form of a text in ASCII, which is stored as it is', 'acme.com/Spring', []],
  ['one form of a part without cases', '日本', [storedKey('日本')]],
  ['a letter in either case', 'für', ['xn--fr-6ha', 'xn--fr-xka']],
  ['both encodings of a path', 'ja/日本', [storedKey('ja/日本'), 'xn--ja/-v08fl0d']],
  ['no form of a text that is longer than any', '日'.repeat(1025), []],
])('a search looks for %s', (_what, text, forms) => {
  expect(storedAddressTexts(text).toSorted()).toEqual(forms.toSorted());
});

it.each([
  ['letters in both cases', 'äöüñé'.repeat(3)],
  ['as many letters as are combined, in a long text', `äöüñ/${'日本/'.repeat(200)}`],
  ['letters with three cases', 'ǅǈǋǲ'],
  ['letters of several characters in another case', 'ßŉǰΐİ'.repeat(50)],
  ['unpaired surrogates', `\ud800ü/${'\udc00'.repeat(900)}`],
])('the forms of %s are few, and made in little CPU time', (_what, text) => {
  const before = process.cpuUsage();
  const forms = storedAddressTexts(text);
  expect(process.cpuUsage(before).user).toBeLessThan(200_000);
  expect(forms.length).toBeGreaterThan(0);
  expect(forms.length).toBeLessThanOrEqual(TEXTS_MAX);
  expect(forms.join('')).not.toMatch(/\p{Surrogate}/u);
});
