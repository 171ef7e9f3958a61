import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keepUtm, mergeUtm, normaliseUrl, readUtm } from '../../src/index.js';

/** All neighbours differ: encoders of international names are slower the more different characters there are. */
const ideographs = (chars: number) =>
  Array.from({ length: chars }, (_, index) => String.fromCharCode(0x4e00 + (index % 8_000))).join('');

describe('a destination', () => {
  it.each([
    ['https://acme.com/a?b=c&flag', 'https://acme.com/a?b=c&flag'],
    ['HTTPS://Acme.com', 'HTTPS://Acme.com'],
    ['mailto:a@b.com', 'mailto:a@b.com'],
    ['myapp://open/1', 'myapp://open/1'],
    ['acme.com', 'https://acme.com'],
    ['acme.com/a b', undefined],
    ['//acme.com/a?b', 'https://acme.com/a?b'],
    ['\\\\acme.com', 'https://acme.com/'],
    ['  https://acme.com/x\n', 'https://acme.com/x'],
    ['https://acme.com/a\r\nSet-Cookie: x', 'https://acme.com/aSet-Cookie: x'],
    ['https://acme.com/\u0000x', 'https://acme.com/%00x'],
    ['https://acme.com/\ud800', 'https://acme.com/\ufffd'],
    ['nonsense', undefined],
    ['https://', undefined],
    ['http://acme.com:99999/a', undefined],
    ['http://[::1/a.b', undefined],
    ['acme.com/to?url=http://b.com:99999', 'https://acme.com/to?url=http://b.com:99999'],
    ['', undefined],
  ])('%j is stored as %j', (given, stored) => {
    expect(normaliseUrl(given)).toBe(stored);
  });

  it('is always a URL without control characters', () => {
    fc.assert(
      fc.property(fc.oneof(fc.webUrl(), fc.string({ unit: 'binary' }), fc.domain()), (text) => {
        const url = normaliseUrl(text);
        if (url === undefined) return;
        expect(URL.canParse(url)).toBe(true);
        expect([...url].filter((char) => char < ' ' || char === '\x7f')).toEqual([]);
        expect(normaliseUrl(url)).toBe(url);
      }),
    );
  });
});

describe('UTM fields', () => {
  it.each([
    ['set a parameter', { utm_source: 'news letter' }, 'https://a.com/?x=1&utm_source=news+letter'],
    ['turn the first plus into a space', { utm_term: 'a+b+c' }, 'https://a.com/?x=1&utm_term=a+b%2Bc'],
    ['set ref, which only the URL has', { ref: 'me' }, 'https://a.com/?x=1&ref=me'],
    ['that are not given leave the URL unchanged', {}, 'https://a.com?x=1'],
  ])('%s', (_what, changes, url) => {
    expect(mergeUtm('https://a.com?x=1', changes)).toBe(url);
  });

  it('are removed by null and by an empty value; other parameters stay', () => {
    const url = 'https://a.com/?utm_source=a&utm_medium=b&utm_campaign=c';
    expect(mergeUtm(url, { utm_source: null, utm_medium: '' })).toBe('https://a.com/?utm_campaign=c');
  });

  it.each([
    'mailto:a@b.c?subject=hi%20you',
    'https://a.com',
    'https://a.com/?X-Sig=a%2Fb+c~d&q=%20(x)&flag&a=1;b=2',
    'https://a.com/?flag&utm_source=a%2Bb&utm_medium=x%20y',
  ])('that change nothing leave %s unchanged', (url) => {
    const { utm_source, utm_medium } = readUtm(url);
    const changes = { utm_source, utm_medium, utm_campaign: null, utm_term: '', utm_content: null, ref: '' };
    expect(mergeUtm(url, changes)).toBe(url);
  });

  it('that repeat a value with a plus sign leave a URL unchanged that has it, encoded or as a space', () => {
    const changes = { utm_source: 'a+b+c', utm_medium: 'd+e' };
    const url = 'https://a.com/?flag&utm_source=a+b%2Bc&utm_medium=d%2Be';
    expect(mergeUtm(url, changes)).toBe(url);
  });

  it('are read back from the final URL, decoded', () => {
    expect(readUtm('https://a.com/?utm_source=caf%C3%A9+x&utm_content=')).toEqual({
      utm_source: 'café x',
      utm_medium: null,
      utm_campaign: null,
      utm_term: null,
      utm_content: null,
    });
  });

  it('of an empty destination are null', () => {
    expect(Object.values(readUtm(''))).toEqual([null, null, null, null, null]);
    expect(mergeUtm('', { utm_source: 'x' })).toBe('');
  });

  it.each([
    ['a host of 31,000 ideographs', `https://${ideographs(31_000)}/`],
    ['more characters than a URL may have', `https://a.com/${'a'.repeat(32_000)}`],
  ])('leave %s unchanged, in little CPU time', (_what, url) => {
    const before = process.cpuUsage();
    expect(mergeUtm(url, { utm_source: 'x' })).toBe(url);
    expect(keepUtm(url, { ...readUtm(url), utm_source: 'x' })).toBe(url);
    expect(readUtm(url).utm_source).toBeNull();
    expect(process.cpuUsage(before).user).toBeLessThan(500_000);
  });
});
