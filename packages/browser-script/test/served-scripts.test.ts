import { createHash } from 'node:crypto';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { SCRIPT_PATHS } from '@waymark/contract';
import { expect, it } from 'vitest';
import { isScriptPath, scriptResponse, scriptVersion } from '../src/index.js';

const COMPRESSED_BYTES_MAX = 3000;

it('there is a script for each choice of features, named as the published loader names them', () => {
  expect([...SCRIPT_PATHS].sort()).toEqual([
    '/analytics/script.conversion-tracking.js',
    '/analytics/script.js',
    '/analytics/script.outbound-domains.conversion-tracking.js',
    '/analytics/script.outbound-domains.js',
    '/analytics/script.site-visit.conversion-tracking.js',
    '/analytics/script.site-visit.js',
    '/analytics/script.site-visit.outbound-domains.conversion-tracking.js',
    '/analytics/script.site-visit.outbound-domains.js',
  ]);
  expect(isScriptPath('/analytics/script.outbound-domains.site-visit.js')).toBe(false);
});

it.each(SCRIPT_PATHS)('%s takes at most 3 kB, and is the same in each coding', (path) => {
  const sent = (coding?: string) => scriptResponse(path, coding === undefined ? {} : { 'accept-encoding': coding });
  const [plain, gzip, brotli] = [sent(), sent('gzip, deflate'), sent('gzip, deflate, br')];
  expect([plain, gzip, brotli].map(({ headers }) => headers['content-encoding'])).toEqual([undefined, 'gzip', 'br']);
  expect(gunzipSync(gzip.body).equals(plain.body)).toBe(true);
  expect(brotliDecompressSync(brotli.body).equals(plain.body)).toBe(true);
  expect(gzip.body.length).toBeLessThanOrEqual(COMPRESSED_BYTES_MAX);
  expect(brotli.body.length).toBeLessThanOrEqual(COMPRESSED_BYTES_MAX);
  expect(scriptVersion(path).integrity).toBe(`sha384-${createHash('sha384').update(plain.body).digest('base64')}`);
});

it('each coding has an entity tag of its own, so that no cache mixes their bytes', () => {
  for (const path of SCRIPT_PATHS) {
    const tagOf = (coding: string) => scriptResponse(path, { 'accept-encoding': coding }).headers.etag;
    expect(new Set(['identity', 'gzip', 'br'].map(tagOf)).size).toBe(3);
  }
});

it('a refused coding is not sent', () => {
  const sent = scriptResponse('/analytics/script.js', { 'accept-encoding': 'br;q=0, gzip;q=0.5' });
  expect(sent.headers['content-encoding']).toBe('gzip');
});

it('no cache has a script for longer than an hour, so that an upgrade, or a tag with a new hash, reaches visitors within the hour', () => {
  for (const path of SCRIPT_PATHS) {
    for (const query of ['', 'v=1', 'v=']) {
      const { status, headers } = scriptResponse(path, {}, query);
      expect([path, query, status, headers['cache-control']]).toEqual([path, query, 200, 'public, max-age=3600']);
    }
  }
});

it('the address of a version is cached for as long as caches like, and has the script of that hash', () => {
  const addresses = SCRIPT_PATHS.map((path) => {
    const { address, integrity } = scriptVersion(path);
    const [, query] = address.split('?');
    const { headers, body } = scriptResponse(path, {}, query);
    expect(headers['cache-control']).toBe('public, max-age=31536000, immutable');
    expect(integrity).toBe(`sha384-${createHash('sha384').update(body).digest('base64')}`);
    expect(address).toMatch(new RegExp(`^${path.replaceAll('.', '\\.')}\\?v=[\\w-]{22}$`));
    return query;
  });
  expect(new Set(addresses).size).toBe(SCRIPT_PATHS.length);
});

it('a request with the tag of the current script gets 304, in whichever coding the client has it', () => {
  const [path] = SCRIPT_PATHS as readonly [string];
  const { etag } = scriptResponse(path, { 'accept-encoding': 'br' }).headers;
  for (const known of [`${etag}`, `W/${etag}`, `"other", ${etag}`, '*']) {
    const again = scriptResponse(path, { 'if-none-match': known });
    expect([known, again.status, again.body.length]).toEqual([known, 304, 0]);
    expect(again.headers).toMatchObject({
      etag: expect.any(String),
      'cache-control': expect.stringContaining('max-age'),
    });
  }
  const tags = SCRIPT_PATHS.map((other) => scriptResponse(other, {}).headers.etag);
  expect(new Set(tags).size).toBe(SCRIPT_PATHS.length);
  expect(scriptResponse(path, { 'if-none-match': '"other"' }).status).toBe(200);
});
