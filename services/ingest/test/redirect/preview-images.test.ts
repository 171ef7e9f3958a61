import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { LinkRecord } from '@waymark/catalog';
import { parseResourceId } from '@waymark/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DOMAIN, startIngest, type TestIngest } from '../test-ingest.js';

const UNFURLER = 'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)';
const PAST = new Date(Date.now() - 1000).toISOString();

/** Every byte, so that none may be changed on the way. */
const BYTES = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
const imageOf = (type: string, content = BYTES) => `data:image/${type};base64,${content.toString('base64')}`;
const shown = { proxy: true, title: 'A preview', image: imageOf('png') };

let ingest: TestIngest;
beforeAll(async () => {
  ingest = await startIngest();
});
afterAll(() => ingest.stop());

/** The image URLs of a page, by the names of their tags. */
function imagesIn(page: string): Record<string, string> {
  const tags = page.matchAll(/<meta (?:property|name)="(og:image|twitter:image)" content="([^"]*)">/g);
  return Object.fromEntries([...tags].map(([, name, url]) => [name, url]));
}

async function imageUrlOf({ key }: Pick<LinkRecord, 'key'>): Promise<string> {
  const { body } = await ingest.visit(`/${key}`, { 'user-agent': UNFURLER });
  const { 'og:image': url } = imagesIn(body);
  if (url === undefined) throw new Error(`no image in ${body}`);
  return url;
}

/** Requests the URL as a robot does that has found it in a page. */
function fetchImage(url: string, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') {
  const { host, pathname, search } = new URL(url);
  return ingest.visit(pathname + search, { host, 'user-agent': UNFURLER, ...headers }, method);
}

const changeLink = ({ id }: LinkRecord, fields: Partial<LinkRecord>) =>
  ingest.catalog.links.update(ingest.workspaceId, id, (link) => ({ ...link, ...fields }));

describe('a stored preview image', () => {
  it('is named by its preview page with a URL on the domain of the link', async () => {
    const link = await ingest.link({ ...shown, key: 'Spring/Sale' });
    const { body } = await ingest.visit('/spring/SALE', { 'user-agent': UNFURLER });
    const images = imagesIn(body);
    expect(images['og:image']).toMatch(/^https:\/\/go\.acme\.com\/_image\/Spring\/Sale\?v=[\w-]{22}$/);
    expect(images['twitter:image']).toBe(images['og:image']);
    expect(body).toContain('<meta name="twitter:card" content="summary_large_image">');
    expect(body).not.toContain('base64');
    expect((await ingest.catalog.links.find(ingest.workspaceId, link.id))?.image).toBe(shown.image);
  });

  it.each([
    ['png', 'image/png'],
    ['jpeg', 'image/jpeg'],
    ['jpg', 'image/jpeg'],
    ['gif', 'image/gif'],
    ['webp', 'image/webp'],
  ])('of type %s is served with its bytes as %s', async (type, contentType) => {
    const url = await imageUrlOf(await ingest.link({ ...shown, image: imageOf(type) }));
    const answer = await fetchImage(url);
    expect([answer.statusCode, answer.headers['content-type']]).toEqual([200, contentType]);
    expect(answer.rawPayload).toEqual(BYTES);
  });

  it('runs nothing of its content, may be shown by every site, and is not indexed', async () => {
    const page = Buffer.from('<!doctype html><script>alert(1)</script>');
    const { headers } = await fetchImage(
      await imageUrlOf(await ingest.link({ ...shown, image: imageOf('png', page) })),
    );
    expect(headers).toMatchObject({
      'content-type': 'image/png',
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'cross-origin',
      'x-robots-tag': 'googlebot: noindex',
    });
  });

  it('is found as its link is: in any case and script, by the host with www and port, at the root', async () => {
    await ingest.link({ ...shown, key: 'Été/Ω' });
    const root = await ingest.catalog.links.findByAddress(DOMAIN, '_root');
    await changeLink(root as LinkRecord, { ...shown, url: 'https://acme.com/' });
    for (const path of ['/_image/%C3%A9t%C3%A9/%CF%89', '/_image/%C3%89T%C3%89/%CE%A9/', '/_image/_root', '/_image/']) {
      const answer = await ingest.visit(path, { host: `WWW.${DOMAIN}:8443` });
      expect([path, answer.statusCode]).toEqual([path, 200]);
    }
    for (const key of ['%C3%A9t%C3%A9/%CF%89', '']) {
      const { statusCode, rawPayload } = await fetchImage(await imageUrlOf({ key }));
      expect([key, statusCode, rawPayload]).toEqual([key, 200, BYTES]);
    }
    expect((await ingest.visit('/_image/_root', { host: 'other.example' })).statusCode).toBe(404);
  });

  it('is revalidated by its ETag, and has another URL when it is replaced', async () => {
    const link = await ingest.link(shown);
    const url = await imageUrlOf(link);
    const { etag, 'cache-control': cacheControl } = (await fetchImage(url)).headers;
    expect(cacheControl).toBe('public, max-age=3600');
    for (const known of [`${etag}`, `W/${etag}`, `"other", ${etag}`, '*']) {
      const answer = await fetchImage(url, { 'if-none-match': known });
      expect([answer.statusCode, answer.body, answer.headers.etag]).toEqual([304, '', etag]);
      // The length of an empty body would be stored as that of the image.
      expect(answer.headers).not.toHaveProperty('content-length');
    }

    await changeLink(link, { title: 'Another title' });
    expect(await imageUrlOf(link)).toBe(url);
    const content = Buffer.from('another image');
    await changeLink(link, { image: imageOf('png', content) });
    const changed = await imageUrlOf(link);
    expect(changed).not.toBe(url);
    for (const one of [url, changed]) {
      const answer = await fetchImage(one, { 'if-none-match': `${etag}` });
      expect([answer.statusCode, answer.rawPayload]).toEqual([200, content]);
    }
  });

  it('is shown by cloaked links too', async () => {
    const { key } = await ingest.link({ ...shown, proxy: false, rewrite: true });
    const { 'og:image': url = '' } = imagesIn((await ingest.visit(`/${key}`)).body);
    expect((await fetchImage(url)).rawPayload).toEqual(BYTES);
  });

  it('counts no click and sets no cookie, for browsers and robots, and answers HEAD', async () => {
    const link = await ingest.link({ ...shown, trackConversion: true });
    const url = await imageUrlOf(link);
    const { pathname, search } = new URL(url);
    for (const answer of [
      await ingest.visit(pathname + search),
      await fetchImage(url),
      await fetchImage(url, {}, 'HEAD'),
    ]) {
      expect(answer.statusCode).toBe(200);
      expect(answer.headers['content-length']).toBe(String(BYTES.length));
      expect(answer.headers).not.toHaveProperty('set-cookie');
    }
    expect((await fetchImage(url, {}, 'HEAD')).body).toBe('');
    // The click that is counted is the only one.
    await ingest.click(link);
    const id = parseResourceId('link', link.id);
    await ingest.rowsWhen(1, 'click_events', 'link_id = {id:UInt64}', { id });
  });

  it('is sent with its length over a socket, and leaves the connection usable after a 304', async () => {
    const url = new URL(await imageUrlOf(await ingest.link(shown)));
    const app = ingest.linkApp;
    await app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = app.server.address() as AddressInfo;
    async function ask(headers: Record<string, string>) {
      const path = url.pathname + url.search;
      const asked = request({ port, host: '127.0.0.1', path, headers: { host: DOMAIN, ...headers } }).end();
      const [answer] = (await once(asked, 'response')) as [IncomingMessage];
      return { answer, body: Buffer.concat(await answer.toArray()) };
    }
    const { answer, body } = await ask({});
    expect([answer.statusCode, answer.headers['content-length'], body]).toEqual([200, String(BYTES.length), BYTES]);
    const again = await ask({ 'if-none-match': String(answer.headers.etag) });
    expect([again.answer.statusCode, again.body.length]).toEqual([304, 0]);
    expect((await ask({})).body).toEqual(BYTES);
  });
});

describe('no image is served', () => {
  it.each([
    ['does not exist', undefined],
    ['has no custom preview', { ...shown, proxy: false }],
    ['has no image', { ...shown, image: null }],
    ['has the URL of an image elsewhere', { ...shown, image: 'https://cdn.acme.com/a.png' }],
    ['has an image that may have scripts', { ...shown, image: imageOf('svg+xml') }],
    ['has a page as image', { ...shown, image: `data:text/html;base64,${BYTES.toString('base64')}` }],
    ['has a password', { ...shown, password: 'sesame' }],
    ['is disabled', { ...shown, disabledAt: PAST }],
    ['has expired', { ...shown, expiresAt: PAST, expiredUrl: 'https://acme.com/expired' }],
    ['has no destination', { ...shown, url: '' }],
  ] as const)('for a link that %s', async (_case, fields) => {
    const key = fields === undefined ? 'nobody' : (await ingest.link(fields)).key;
    for (const query of ['', '?pw=sesame']) {
      const answer = await ingest.visit(`/_image/${key}${query}`, { 'user-agent': UNFURLER });
      expect([answer.statusCode, answer.headers['cache-control']]).toEqual([404, 'no-store']);
      expect(answer.headers).not.toHaveProperty('location');
      expect(answer.rawPayload.includes(BYTES)).toBe(false);
    }
    // Nor does a page name one.
    expect((await ingest.visit(`/${key}?bot=1&pw=sesame`)).body).not.toContain('/_image/');
  });

  it('any more once the link is locked, disabled or expired, also to those who have it', async () => {
    for (const fields of [
      { disabledAt: PAST },
      { expiresAt: PAST },
      { encryptedPassword: 'sealed' },
      { proxy: false },
      { image: null },
    ]) {
      const link = await ingest.link(shown);
      const url = await imageUrlOf(link);
      const { etag } = (await fetchImage(url)).headers;
      await changeLink(link, fields);
      const answer = await fetchImage(url, { 'if-none-match': `${etag}` });
      expect([fields, answer.statusCode]).toEqual([fields, 404]);
    }
  });

  it('in the place of a link: no key may begin as the paths of images do', async () => {
    await expect(ingest.link({ key: '_image/taken' })).rejects.toMatchObject({ code: 'unprocessable_entity' });
    await expect(ingest.link({ key: '/_IMAGE/taken' })).rejects.toMatchObject({ code: 'unprocessable_entity' });
    const { key } = await ingest.link({ ...shown, key: 'image/free' });
    expect((await ingest.visit(`/${key}`)).statusCode).toBe(302);
  });
});
