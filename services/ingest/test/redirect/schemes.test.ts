import { describe, expect, it } from 'vitest';
import { finalDestination } from '../../src/redirect/address/final-url.js';
import { destinationFor } from '../../src/redirect/rules/follow.js';

/** The URL that a visit with these parameters opens. */
function opened(target: string, query: string): string {
  const { fields } = destinationFor(target, false);
  return finalDestination(target, { query, via: undefined, isPasswordCorrect: false, fields }).url;
}

const VISIT = ['to', 'cc', 'bcc', 'subject', 'body', 'fbclid'];
const QUERY = VISIT.map((name) => `${name}=x`).join('&');

/** The rows of docs/reference/redirects.md, "The destination". */
const SCHEMES: readonly (readonly [string, readonly string[]])[] = [
  ['mailto', ['to', 'cc', 'bcc', 'subject', 'body']],
  ...['sms', 'smsto', 'mms', 'mmsto'].map((scheme) => [scheme, ['body']] as const),
  ...['tel', 'callto', 'facetime', 'facetime-audio', 'sip', 'sips', 'xmpp'].map((scheme) => [scheme, []] as const),
  ...['tg', 'whatsapp', 'myapp', 'https'].map((scheme) => [scheme, VISIT] as const),
];

describe('a destination gets the parameters of its scheme only', () => {
  it.each(SCHEMES)('%s: %j', (scheme, names) => {
    const added = names.map((name) => `${name}=x`).join('&');
    for (const target of [`${scheme}:4930`, `${scheme.toUpperCase()}:4930`]) {
      expect(opened(target, QUERY)).toBe(added === '' ? target : `${target}?${added}`);
    }
  });

  it.each(['utm_source', 'utm_medium', 'utm_campaign', 'utm_term', 'utm_content', 'ref'])(
    'an address or a number loses the %s of the link',
    (name) => {
      expect(opened(`mailto:a@b.c?${name}=x&subject=Hi`, '')).toBe('mailto:a@b.c?subject=Hi');
      expect(opened(`tel:4930?${name}=x`, '')).toBe('tel:4930');
      expect(opened(`tg://resolve?${name}=x`, '')).toBe(`tg://resolve?${name}=x`);
    },
  );
});

describe('which destinations are app stores', () => {
  it.each([
    'https://apps.apple.com/app/id1',
    'HTTPS://APPS.APPLE.COM/app/id1',
    'http://itunes.apple.com/app/id1',
    'https://play.google.com',
    'https://play.google.com/store/apps/details?id=com.acme',
    'https://play.google.com:443/store',
    'https://play.google.com?id=1',
    'itms-apps://apps.apple.com/app/id1',
    'market://details?id=com.acme',
    'MARKET:details',
  ])('%s is one', (url) => {
    expect(destinationFor(url, false).isAppStore).toBe(true);
  });

  it.each([
    'https://apps.apple.com.evil.test/',
    'https://itunes.apple.com-evil.test/',
    'https://play.google.common.test/',
    'https://my-play.google.com/',
    'https://example.com/apps.apple.com',
    'https://example.com/?to=https://play.google.com/',
    'https://google.com/',
    'marketing:x',
    'itms-appss://apps.apple.com/',
    'x-market:details',
  ])('%s is none', (url) => {
    expect(destinationFor(url, false).isAppStore).toBe(false);
  });
});
