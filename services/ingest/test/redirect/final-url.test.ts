import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { finalDestination, headerUrl, recordedUrl, redirectTarget } from '../../src/redirect/address/final-url.js';

const CLICK_ID = '0TzWKQkAbCdEfGh1';
const plain = { query: '', via: undefined, isPasswordCorrect: false };
const of = (target: string, query = '', more = {}) => finalDestination(target, { ...plain, query, ...more });

describe('final URL', () => {
  it.each([
    'https://acme.com',
    'https://acme.com/?flag',
    'https://acme.com/?flag&a=b%2Fc&&x=1+2&=#top?x=1',
    'https://acme.com/?qr=1',
    'mailto:ada@example.com?subject=Hi%20there',
    'myapp://open/item',
  ])('leaves %s as it is, byte for byte, when there is nothing to add', (target) => {
    expect(of(target).url).toBe(target);
    expect(of(target, 'dub-no-track=1&redir_url=x').url).toBe(target);
  });

  it('adds the click id, and keeps every other byte', () => {
    const cases = [
      ['https://acme.com', 'https://acme.com?dub_id=ID'],
      ['https://acme.com/', 'https://acme.com/?dub_id=ID'],
      ['https://acme.com/?flag', 'https://acme.com/?flag&dub_id=ID'],
      ['https://acme.com/?', 'https://acme.com/?dub_id=ID'],
      ['https://acme.com/?sig=a%2Fb+c#top', 'https://acme.com/?sig=a%2Fb+c&dub_id=ID#top'],
      ['https://acme.com/#top?x', 'https://acme.com/?dub_id=ID#top?x'],
      ['https://acme.com/?dub_id=old&a=1', 'https://acme.com/?dub_id=ID&a=1'],
      ['https://acme.com/?dub%5Fid=old&a=1', 'https://acme.com/?dub_id=ID&a=1'],
    ] as const;
    for (const [target, expected] of cases) {
      expect(of(target).withClickId(CLICK_ID)).toBe(expected.replace('ID', CLICK_ID));
    }
  });

  it('passes the click id as client_reference_id when the target requests it', () => {
    expect(of('https://buy.com/x?dub_client_reference_id=1&a=2').withClickId(CLICK_ID)).toBe(
      `https://buy.com/x?a=2&client_reference_id=dub_id_${CLICK_ID}`,
    );
    expect(of('https://buy.com/x?dub_client_reference_id=2').withClickId(CLICK_ID)).toBe(
      `https://buy.com/x?dub_client_reference_id=2&dub_id=${CLICK_ID}`,
    );
  });

  it.each([
    ['?a=1', 'dub_client_reference_id=1', '?a=1&dub_client_reference_id=1&dub_id=ID'],
    [
      '',
      'client_reference_id=x&dub_client_reference_id=1',
      '?client_reference_id=x&dub_client_reference_id=1&dub_id=ID',
    ],
    ['?dub_client_reference_id=0', 'dub_client_reference_id=1', '?dub_client_reference_id=1&dub_id=ID'],
    [
      '?dub_client_reference_id=1',
      'dub_client_reference_id=0',
      '?dub_client_reference_id=0&client_reference_id=dub_id_ID',
    ],
    ['?dub_client_reference_id=1', 'dub_id=x', '?dub_id=x&client_reference_id=dub_id_ID'],
    ['?dub_client_reference_id=1', 'client_reference_id=x', '?client_reference_id=x'],
  ])('follows the request of the target, not of the visit: %j, visited with %s', (own, query, expected) => {
    const final = of(`https://buy.com/${own}`, query).withClickId(CLICK_ID);
    expect(final).toBe(`https://buy.com/${expected.replace('ID', CLICK_ID)}`);
  });

  it('adds every incoming parameter, which replaces the target’s of the same name', () => {
    expect(of('https://acme.com/?a=1&b=2&a=3', 'b=9&c=%20x&flag').url).toBe(
      'https://acme.com/?a=1&b=9&a=3&c=%20x&flag',
    );
    expect(of('https://acme.com/?a=1&b=2&a=3#f', 'a=8&a=9').url).toBe('https://acme.com/?a=8&b=2&a=9#f');
    expect(of('https://acme.com/?utm%5Fsource=x', 'utm_source=y').url).toBe('https://acme.com/?utm_source=y');
    expect(of('https://acme.com', 'dub_id=theirs').withClickId(CLICK_ID)).toBe('https://acme.com?dub_id=theirs');
  });

  it('drops parameters for the redirect itself, and the correct password', () => {
    const query = 'dub-no-track&redir_url=https%3A%2F%2Facme.com&qr=1&skip_deeplink_preview=1&pw=secret&x=1';
    expect(of('https://acme.com', query, { isPasswordCorrect: true }).url).toBe('https://acme.com?x=1');
    expect(of('https://acme.com', query).url).toBe('https://acme.com?pw=secret&x=1');
    expect(of('https://acme.com', 'qr=2').url).toBe('https://acme.com?qr=2');
  });

  it.each([
    ['?qr=1&a=1&skip_deeplink_preview=1', 'x=1', '?qr=1&a=1&skip_deeplink_preview=1&x=1'],
    ['?qr=2', 'qr=1&x=1', '?qr=2&x=1'],
    ['?qr=1', 'qr=2', '?qr=2'],
    ['?a=1&&b=2', 'x=1', '?a=1&&b=2&x=1'],
    ['?&a=1&&', 'x=1', '?&a=1&&x=1'],
    ['?a=1&&b=2&', 'a=3', '?a=3&&b=2&'],
    ['?&&', '=1', '?&&=1'],
  ])('keeps what the owner wrote in %s for a visit with %s', (own, query, expected) => {
    expect(of(`https://acme.com/${own}#top`, query).url).toBe(`https://acme.com/${expected}#top`);
  });

  it('keeps the bytes beside the click id and via as well', () => {
    const own = 'https://acme.com/?qr=1&&b=%2F&';
    const ids = `via=ada&x=1&dub_id=${CLICK_ID}`;
    expect(of(own, 'x=1', { via: 'ada' }).withClickId(CLICK_ID)).toBe(`https://acme.com/?qr=1&&b=%2F&${ids}`);
    expect(of(own).withClickId(CLICK_ID)).toBe(`https://acme.com/?qr=1&&b=%2F&dub_id=${CLICK_ID}`);
    expect(of(`${own}dub_id=old&`).recorded).toBe(own);
  });

  it('adds via for a partner link, unless the visit has its own', () => {
    expect(of('https://acme.com/?via=old', '', { via: 'ada/x' }).url).toBe('https://acme.com/?via=ada%2Fx');
    expect(of('https://acme.com', 'via=bob', { via: 'ada' }).url).toBe('https://acme.com?via=bob');
    expect(of('https://acme.com', '', { via: 'ada' }).withClickId(CLICK_ID)).toBe(
      `https://acme.com?via=ada&dub_id=${CLICK_ID}`,
    );
  });

  it('is recorded without any click id', () => {
    expect(of('https://acme.com/?a=1', 'dub_id=theirs&b=2')).toMatchObject({
      url: 'https://acme.com/?a=1&dub_id=theirs&b=2',
      recorded: 'https://acme.com/?a=1&b=2',
    });
    expect(of('https://acme.com/?dub_id=old&a=%2F').recorded).toBe('https://acme.com/?a=%2F');
    expect(of('https://acme.com/?a=%2F').recorded).toBe('https://acme.com/?a=%2F');
  });

  const text = fc.oneof(
    fc.string({ maxLength: 5 }),
    fc.string({ unit: 'grapheme', maxLength: 3 }),
    fc.constantFrom('a', 'b', '1', 'dub_id', 'via', 'qr', 'dub_client_reference_id', 'client_reference_id'),
  );
  const pairs = fc.array(fc.tuple(text, text), { maxLength: 5 });
  const encoded = pairs.map((list) => new URLSearchParams(list).toString());

  it('has the same parameters as the same steps with URLSearchParams', () => {
    fc.assert(
      fc.property(encoded, encoded, fc.option(text, { nil: undefined }), (own, query, via) => {
        const expected = new URLSearchParams(own);
        const incoming = new URLSearchParams(query);
        for (const name of ['dub-no-track', 'redir_url']) incoming.delete(name);
        for (const name of ['qr', 'skip_deeplink_preview']) incoming.delete(name, '1');
        if (via !== undefined) expected.set('via', via);
        const isReference = expected.has('dub_client_reference_id', '1');
        if (isReference) expected.delete('dub_client_reference_id', '1');
        const seen = new Set<string>();
        for (const [name, value] of incoming) {
          if (seen.has(name)) expected.append(name, value);
          else expected.set(name, value);
          seen.add(name);
        }
        const [name, value] = isReference ? ['client_reference_id', `dub_id_${CLICK_ID}`] : ['dub_id', CLICK_ID];
        if (!seen.has(name)) expected.set(name, value);
        const final = of(`https://acme.com/p?${own}#f`, query, { via }).withClickId(CLICK_ID);
        const url = new URL(final);
        expect([...url.searchParams]).toEqual([...expected]);
        expect(url.hash).toBe('#f');
        expect(url.pathname).toBe('/p');
      }),
      { numRuns: 1000 },
    );
  });

  it('is fast for a query with thousands of parameters', () => {
    const query = Array.from({ length: 40_000 }, (_, index) => `${index % 3 === 0 ? 'a' : index}=1`).join('&');
    const before = process.cpuUsage();
    of(`https://acme.com?${query}`, query, { via: 'x' }).withClickId(CLICK_ID);
    expect(process.cpuUsage(before).user).toBeLessThan(2_000_000);
  });

  it('never throws, keeps scheme and host of any target, and is always a valid header value', () => {
    fc.assert(
      fc.property(
        fc.webUrl({ withQueryParameters: true, withFragments: true }),
        fc.string({ unit: 'binary' }),
        (target, query) => {
          const destination = of(target, query);
          for (const url of [destination.url, destination.withClickId(CLICK_ID)]) {
            const header = headerUrl(url);
            expect(header).toMatch(/^[\x21-\x7e]+$/);
            expect(new URL(header).origin).toBe(new URL(target).origin);
          }
        },
      ),
    );
  });
});

describe('redir_url', () => {
  const target = 'https://acme.com/a?b=c';

  it('replaces a target on the same host', () => {
    expect(redirectTarget(target, 'https://acme.com/other?x=1')).toBe('https://acme.com/other?x=1');
  });

  it('must not downgrade https to http, but may upgrade', () => {
    expect(redirectTarget(target, 'http://acme.com/other')).toBe(target);
    expect(redirectTarget('http://acme.com/', 'http://acme.com/other')).toBe('http://acme.com/other');
    expect(redirectTarget('http://acme.com/', 'https://acme.com/other')).toBe('https://acme.com/other');
  });

  it('must not lead from an app scheme to a web site of that name', () => {
    expect(redirectTarget('myapp://acme.com/open', 'https://acme.com/')).toBe('myapp://acme.com/open');
  });

  it.each([
    null,
    '',
    'not a url',
    '/relative',
    'https://evil.com/',
    'https://acme.com@evil.com/',
    'https://acme.com.evil.com/',
    'https://www.acme.com/',
    'https://acme.com:8443/',
    'https:\\\\evil.com/acme.com',
    'javascript://acme.com/%0aalert(1)',
    'data:text/html,acme.com',
    'https://ada:secret@acme.com/',
    'https://ada@acme.com/',
  ])('is ignored when it is %s', (redirUrl) => {
    expect(redirectTarget(target, redirUrl)).toBe(target);
  });
});

describe('header URL', () => {
  it.each([
    ['https://acme.com/a?x="<>|^`{}', 'https://acme.com/a?x="<>|^`{}'],
    ['https://acme.com/ü?q=日本 x', 'https://acme.com/%C3%BC?q=%E6%97%A5%E6%9C%AC%20x'],
    ['https://bücher.example/ü', 'https://xn--bcher-kva.example/%C3%BC'],
    ['https://acme.com/a\r\nSet-Cookie: x=1', 'https://acme.com/a%0D%0ASet-Cookie:%20x=1'],
    ['https://acme.com/\ud800', 'https://acme.com/%EF%BF%BD'],
    ['mailto:a@b.c?subject=Grüße', 'mailto:a@b.c?subject=Gr%C3%BC%C3%9Fe'],
  ])('%s', (url, expected) => {
    expect(headerUrl(url)).toBe(expected);
  });
});

describe('recorded URL', () => {
  it('is cut off at a parameter when it is too long for a row', () => {
    const long = `https://acme.com/?a=1&b=${'é'.repeat(20_000)}&c=1`;
    expect(recordedUrl(long)).toBe('https://acme.com/?a=1');
    expect(Buffer.byteLength(recordedUrl(`https://acme.com/${'日'.repeat(20_000)}`))).toBeLessThanOrEqual(24_000);
    expect(recordedUrl('https://acme.com/?a=1')).toBe('https://acme.com/?a=1');
  });
});
