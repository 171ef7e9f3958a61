import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Reader } from 'maxmind';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { createVisitReader, type GeoEdge, type Visit, type VisitRequest } from '../src/index.js';
import { mmdbFile } from './mmdb-file.js';

const CHROME =
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Safari/537.36';
const options = { trustedProxies: ['127.0.0.0/8', '::1/128'], identitySalt: 'salt' };
const reader = createVisitReader({ ...options, geoEdge: 'cloudflare' });
const directory = mkdtempSync(join(tmpdir(), 'visit-'));
afterAll(() => rmSync(directory, { recursive: true }));

function visit(headers: IncomingHttpHeaders, facts: Partial<VisitRequest> = {}, read = reader): Visit {
  return read({ remoteAddress: '127.0.0.1', method: 'GET', headers: { 'user-agent': CHROME, ...headers }, ...facts });
}

const NOWHERE = { country: 'Unknown', region: 'Unknown', city: 'Unknown', continent: '' };

describe('visit', () => {
  it('has a default for every unknown field', () => {
    expect(visit({ 'user-agent': undefined })).toMatchObject({
      clientAddress: '127.0.0.1',
      ip: '',
      isBot: true,
      isPrefetch: false,
      device: 'Desktop',
      browser: 'Unknown',
      os: 'Unknown',
      userAgent: 'Unknown',
      country: 'Unknown',
      region: 'Unknown',
      city: 'Unknown',
      continent: '',
      referer: '(direct)',
      refererUrl: '(direct)',
    });
  });

  it('is a bot for HEAD, for ?bot= with a value and without a user agent, and not otherwise', () => {
    expect(visit({}).isBot).toBe(false);
    expect(visit({}, { method: 'HEAD' }).isBot).toBe(true);
    expect(visit({}, { botParameter: '1' }).isBot).toBe(true);
    expect(visit({}, { botParameter: '' }).isBot).toBe(false);
    expect(visit({ 'user-agent': '' }).isBot).toBe(true);
  });

  it.each([
    [{ purpose: 'prefetch' }, true],
    [{ 'sec-purpose': 'prefetch;prerender' }, true],
    [{ 'sec-purpose': 'prefetch;anonymous-client-ip' }, true],
    [{ 'x-moz': 'Prefetch' }, true],
    [{ 'sec-purpose': 'other', purpose: 'prefetch' }, true],
    [{ 'sec-purpose': '', purpose: 'other', 'x-moz': 'prefetch' }, true],
    [{ purpose: 'other' }, false],
    [{}, false],
  ])('prefetch headers %j: %s', (headers, expected) => {
    expect(visit(headers).isPrefetch).toBe(expected);
  });

  it('names the referer by host, lower case, without www', () => {
    expect(visit({ referer: 'https://WWW.Example.com:8080/a?b=c' })).toMatchObject({
      referer: 'example.com',
      refererUrl: 'https://WWW.Example.com:8080/a?b=c',
    });
    expect(visit({ referer: 'android-app://com.slack/' }).referer).toBe('com.slack');
    expect(visit({ referer: 'not a url' }).referer).toBe('(direct)');
    expect(visit({ referer: 'https://a.com/' }, { referrer: 'https://b.com/x' }).referer).toBe('b.com');
    expect(visit({ referer: `https://a.com/${'x'.repeat(9000)}` }).refererUrl).toHaveLength(2048);
  });

  it('ignores headers of untrusted proxies', () => {
    const headers = { 'x-forwarded-for': '1.2.3.4', 'cf-ipcountry': 'US' };
    expect(visit(headers, { remoteAddress: '203.0.113.9' })).toMatchObject({
      clientAddress: '203.0.113.9',
      country: 'Unknown',
    });
    expect(visit(headers)).toMatchObject({ clientAddress: '1.2.3.4', country: 'US' });
  });

  it.each<[GeoEdge, IncomingHttpHeaders, Partial<Visit>]>([
    [
      'vercel',
      {
        'x-vercel-ip-country': 'BR',
        'x-vercel-ip-country-region': 'SP',
        'x-vercel-ip-city': 'S%C3%A3o%20Paulo',
        'x-vercel-ip-continent': 'SA',
      },
      { country: 'BR', region: 'SP', city: 'São Paulo', continent: 'SA' },
    ],
    [
      'cloudflare',
      {
        'cf-ipcountry': 'BR',
        'cf-region-code': 'SP',
        'cf-ipcity': Buffer.from('São Paulo').toString('latin1'),
        'cf-ipcontinent': 'SA',
      },
      { country: 'BR', region: 'SP', city: 'São Paulo', continent: 'SA' },
    ],
    [
      'cloudfront',
      {
        'cloudfront-viewer-country': 'us',
        'cloudfront-viewer-country-region': 'TX',
        'cloudfront-viewer-city': 'Austin',
      },
      { country: 'US', region: 'TX', city: 'Austin', continent: 'NA' },
    ],
    [
      'vercel',
      { 'x-vercel-ip-country': 'US', 'x-vercel-ip-city': 'a%00b' },
      { country: 'US', region: 'Unknown', city: 'a\ufffdb' },
    ],
    ['cloudflare', { 'cf-ipcountry': 'XX' }, { country: 'Unknown', region: 'Unknown', city: 'Unknown', continent: '' }],
    ['cloudflare', { 'cf-ipcountry': 'T1' }, { country: 'Unknown', continent: '' }],
    [
      'cloudflare',
      { 'cf-ipcountry': 'US', 'cf-region-code': 'US-CA', 'cf-ipcity': '100%' },
      { country: 'US', region: 'CA', city: '100%' },
    ],
    // Latin-1, which is no valid UTF-8.
    ['cloudflare', { 'cf-ipcountry': 'BR', 'cf-ipcity': 'São Paulo' }, { country: 'BR', city: 'São Paulo' }],
    ['cloudflare', { 'cf-ipcountry': '<script>', 'cf-ipcity': 'x' }, { country: 'Unknown', city: 'Unknown' }],
    ['cloudflare', { 'cf-ipcountry': 'US', 'cf-ipcontinent': 'Atlantis' }, { continent: 'NA' }],
  ])('%s in front: the place is read from %j, which are ignored behind any other edge', (geoEdge, headers, place) => {
    const behind = (edge: GeoEdge | undefined) => visit(headers, {}, createVisitReader({ ...options, geoEdge: edge }));
    expect(behind(geoEdge)).toMatchObject(place);
    const others = (['vercel', 'cloudflare', 'cloudfront', undefined] as const).filter((edge) => edge !== geoEdge);
    for (const other of others) expect(behind(other)).toMatchObject(NOWHERE);
  });

  it('reads configured headers instead of the edge’s for the same field', () => {
    const geoHeaders = { country: 'x-country', city: 'x-city' };
    const headers = { 'x-country': 'CA', 'x-city': 'Toronto', 'cf-region-code': 'ON', 'cf-ipcity': 'Paris' };
    const read = createVisitReader({ ...options, geoEdge: 'cloudflare', geoHeaders });
    expect(visit(headers, {}, read)).toMatchObject({ country: 'CA', region: 'ON', city: 'Toronto' });
    expect(visit({ 'cf-ipcountry': 'FR' }, {}, read)).toMatchObject(NOWHERE);
    const alone = createVisitReader({ ...options, geoHeaders });
    expect(visit(headers, {}, alone)).toMatchObject({ country: 'CA', region: 'Unknown', city: 'Toronto' });
  });

  it('stores no address when the country is unknown, as it may be in the EU', () => {
    for (const headers of [{ 'cf-ipcountry': 'US' }, { 'x-vercel-ip-country': 'US' }, {}]) {
      const read = visit({ 'x-forwarded-for': '1.2.3.4', ...headers }, {}, createVisitReader(options));
      expect(read).toMatchObject({ ...NOWHERE, ip: '', clientAddress: '1.2.3.4' });
    }
  });

  it('stores no addresses from the EU and GB, but those from their neighbours', () => {
    const from = (country: string) => visit({ 'x-forwarded-for': '1.2.3.4', 'cf-ipcountry': country });
    const members = 'AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK'.split(' ');
    expect(members).toHaveLength(27);
    for (const country of [...members, 'GB', 'XX', 'T1']) {
      expect(from(country), country).toMatchObject({ ip: '', clientAddress: '1.2.3.4' });
    }
    for (const country of ['US', 'CH', 'NO', 'IS', 'LI']) expect(from(country).ip, country).toBe('1.2.3.4');
    expect([from('UK').country, from('EL').country]).toEqual(['GB', 'GR']);
  });

  it('stores no address for a two-letter code that is not a country', () => {
    const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
    const visits = letters.flatMap((first) =>
      letters.map((second) => visit({ 'x-forwarded-for': '1.2.3.4', 'cf-ipcountry': first + second })),
    );
    const kept = visits.filter(({ ip }) => ip !== '');
    expect(new Set(kept.map(({ country }) => country)).size).toBe(222);
    for (const { ip, continent } of visits) expect(ip === '' || continent !== '').toBe(true);
    for (const code of ['EU', 'AP', 'XX', 'ZZ']) expect(visit({ 'cf-ipcountry': code }).country).toBe('Unknown');
  });

  it('stores no addresses at all when all are anonymised', () => {
    const read = createVisitReader({ ...options, geoEdge: 'cloudflare', anonymisedAddresses: 'all' });
    const from = (country: string) => visit({ 'x-forwarded-for': '1.2.3.4', 'cf-ipcountry': country }, {}, read);
    expect(from('US')).toMatchObject({ ip: '', clientAddress: '1.2.3.4', country: 'US' });
  });

  it('gives the same identity to the same address and user agent only', () => {
    const identity = (address: string, agent: string, read = reader) =>
      visit({ 'x-forwarded-for': address, 'user-agent': agent }, {}, read).identity;
    const mine = identity('1.2.3.4', CHROME);
    expect(mine).toMatch(/^[A-Za-z0-9_-]{16}$/);
    expect(identity('1.2.3.4', CHROME)).toBe(mine);
    expect(identity('::ffff:1.2.3.4', CHROME)).toBe(mine);
    expect(identity('1.2.3.5', CHROME)).not.toBe(mine);
    expect(identity('1.2.3.4', `${CHROME} `)).not.toBe(mine);
    expect(identity('1.2.3.4', '')).toBe(visit({ 'x-forwarded-for': '1.2.3.4', 'user-agent': undefined }).identity);
    expect(identity('1.2.3.4', '')).not.toBe(mine);
    expect(identity('1.2.3.4', CHROME, createVisitReader({ ...options, identitySalt: 'other' }))).not.toBe(mine);
  });

  it('cuts off overlong user agents, before anything is read from them', () => {
    expect(visit({ 'user-agent': 'x'.repeat(50_000) }).userAgent).toHaveLength(1024);
    const long = `${CHROME} ${'x'.repeat(1024)}`;
    const [cut, longer] = [visit({ 'user-agent': long }), visit({ 'user-agent': `${long} Googlebot/2.1` })];
    expect(longer).toEqual(cut);
    expect(visit({ 'user-agent': `${CHROME} Googlebot/2.1` }).isBot).toBe(true);
  });
});

describe('geo database', () => {
  const austin = {
    country: { iso_code: 'US' },
    continent: { code: 'NA' },
    subdivisions: [{ iso_code: 'TX' }],
    city: { names: { en: 'Austin' } },
  };
  const place = (file: string, address: string, headers: IncomingHttpHeaders = {}) => {
    const read = createVisitReader({ ...options, geoEdge: 'cloudflare', geoDatabase: file });
    try {
      return visit({ 'x-forwarded-for': address, ...headers }, {}, read);
    } finally {
      read.close();
    }
  };

  it('is used only when the edge sends no country', () => {
    const file = join(directory, 'city.mmdb');
    writeFileSync(file, mmdbFile({ '192.0.2.0/24': austin, '198.51.100.0/24': { country: { iso_code: 'FR' } } }));
    expect(place(file, '192.0.2.77')).toMatchObject({ country: 'US', region: 'TX', city: 'Austin', continent: 'NA' });
    expect(place(file, '198.51.100.1')).toMatchObject({ country: 'FR', region: 'Unknown', continent: 'EU', ip: '' });
    expect(place(file, '203.0.113.1')).toMatchObject({ country: 'Unknown', ip: '' });
    expect(place(file, '2001:db8::1').country).toBe('Unknown');
    expect(place(file, '192.0.2.77', { 'cf-ipcountry': 'JP' })).toMatchObject({ country: 'JP', city: 'Unknown' });
  });

  it('has the registered country for an address whose place is not known', () => {
    const file = join(directory, 'registered.mmdb');
    const registered = { registered_country: { iso_code: 'JP' } };
    const moved = { country: { iso_code: 'FR' }, ...registered };
    writeFileSync(file, mmdbFile({ '192.0.2.0/24': registered, '198.51.100.0/24': moved }));
    expect(place(file, '192.0.2.77')).toMatchObject({ country: 'JP', continent: 'AS', city: 'Unknown' });
    expect(place(file, '198.51.100.1').country).toBe('FR');
  });

  it('reloads a replaced file, and keeps the previous content when the new file is invalid', async () => {
    const file = join(directory, 'replaced.mmdb');
    const onReloadError = vi.fn();
    writeFileSync(file, mmdbFile({ '192.0.2.0/24': austin }));
    const read = createVisitReader({ ...options, geoDatabase: file, checkIntervalMs: 5, onReloadError });
    const country = () => visit({ 'x-forwarded-for': '192.0.2.1' }, {}, read).country;
    try {
      expect(country()).toBe('US');
      writeFileSync(file, 'broken');
      await expect.poll(() => onReloadError).toHaveBeenCalled();
      expect(country()).toBe('US');
      writeFileSync(file, mmdbFile({ '192.0.2.0/24': { country: { iso_code: 'MX' } } }));
      await expect.poll(country).toBe('MX');
    } finally {
      read.close();
    }
  });

  it('of IPv4 addresses only has no place for visitors with IPv6, and their addresses are not stored', () => {
    const file = join(directory, 'ipv4.mmdb');
    writeFileSync(file, mmdbFile({ '32.0.0.0/8': austin }));
    expect(place(file, '32.3.0.225')).toMatchObject({ country: 'US', ip: '32.3.0.225' });
    // Its first 32 bits are those of 32.3.0.225.
    expect(place(file, '2003:e1::5')).toMatchObject({ ...NOWHERE, ip: '' });
    expect(place(file, '::ffff:32.3.0.225').country).toBe('US');
  });

  it('that is damaged leaves places unknown, and is reported once', () => {
    const file = join(directory, 'damaged.mmdb');
    const content = mmdbFile({ '192.0.2.0/24': austin });
    const { searchTreeSize } = new Reader(content).metadata;
    writeFileSync(file, content.fill(0xff, searchTreeSize + 16, searchTreeSize + 40));
    const onLookupError = vi.fn();
    const read = createVisitReader({ ...options, geoDatabase: file, onLookupError });
    try {
      for (const address of ['192.0.2.1', '192.0.2.2'])
        expect(visit({ 'x-forwarded-for': address }, {}, read)).toMatchObject({ ...NOWHERE, ip: '' });
      expect(onLookupError).toHaveBeenCalledOnce();
    } finally {
      read.close();
    }
  });

  it('throws for an invalid file', () => {
    expect(() => createVisitReader({ ...options, geoDatabase: join(directory, 'absent.mmdb') })).toThrow();
  });
});

describe('a visit over HTTPS', () => {
  it.each([
    [{ 'x-forwarded-proto': 'https' }, true],
    [{ 'x-forwarded-proto': 'HTTPS' }, true],
    [{ 'x-forwarded-proto': 'http, https' }, true],
    [{ 'x-forwarded-proto': 'https,http' }, false],
    [{ 'x-forwarded-proto': 'http' }, false],
    [{ 'x-forwarded-proto': '' }, false],
    [{}, false],
  ])('is one for which the nearest proxy reports HTTPS: %j', (headers, isSecure) => {
    expect(visit(headers).isSecure).toBe(isSecure);
  });

  it('ignores the protocol header of an untrusted client', () => {
    expect(visit({ 'x-forwarded-proto': 'https' }, { remoteAddress: '203.0.113.9' }).isSecure).toBe(false);
  });
});
