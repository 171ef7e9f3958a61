import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ApiError } from '@waymark/contract';
import jsQR from 'jsqr';
import { PNG } from 'pngjs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { aCaller, type Caller, startManagement, type TestManagement } from '../test-management.js';

let management: TestManagement;
let acme: Caller;
let shortLink: string;
let images: Server;
let imagesUrl: string;
let fetched: string[];
let address = 0;

/** A red square. */
function aLogo(side = 8): Buffer {
  const png = new PNG({ width: side, height: side });
  for (let at = 0; at < png.data.length; at += 4) png.data.set([255, 0, 0, 255], at);
  return PNG.sync.write(png);
}

beforeAll(async () => {
  management = await startManagement();
  acme = await aCaller(management);
  const link = { domain: acme.host, key: 'try', url: 'https://acme.com' };
  await management.catalog.links.create(acme.workspaceId, link);
  shortLink = `https://${acme.host}/try`;
  images = createServer((request, response) => {
    fetched.push(request.url ?? '');
    if (request.url === '/redirect.png') return response.writeHead(302, { location: '/logo.png' }).end();
    if (request.url === '/page.png') return response.end('<html>');
    if (request.url === '/large.png') return response.end(Buffer.alloc(600_000, aLogo()));
    if (request.url === '/bomb.png') {
      const claim = aLogo();
      claim.writeUInt32BE(60_000, 16);
      return response.end(claim);
    }
    if (request.url === '/wide.png') return response.end(aLogo(1025));
    if (request.url === '/interlaced.png') {
      const interlaced = aLogo();
      interlaced[28] = 1;
      return response.end(interlaced);
    }
    if (request.url === '/two-headers.png') {
      const [small, large] = [aLogo(8), aLogo(1100)];
      const headerEnd = 33;
      return response.end(
        Buffer.concat([small.subarray(0, headerEnd), large.subarray(8, headerEnd), small.subarray(headerEnd)]),
      );
    }
    if (request.url === '/deep.png') {
      const deep = aLogo();
      deep.writeUInt32BE(600, 16);
      deep[24] = 16;
      return response.end(deep);
    }
    return response.end(aLogo());
  });
  await new Promise<void>((resolve) => images.listen(0, '127.0.0.1', resolve));
  imagesUrl = `http://127.0.0.1:${(images.address() as AddressInfo).port}`;
});
beforeEach(() => {
  fetched = [];
});
afterEach(() => {
  address += 1;
});
afterAll(async () => {
  images.close();
  await management.close();
});

/** Each test uses a new address. */
async function getQr(query: Record<string, string>, remoteAddress = `10.0.0.${address}`) {
  const response = await management.app.inject({ method: 'GET', url: '/qr', query, remoteAddress });
  return { status: response.statusCode, headers: response.headers, image: response.rawPayload };
}

async function drawn(query: Record<string, string>) {
  const { status, image } = await getQr(query);
  expect(status).toBe(200);
  const png = PNG.sync.read(image);
  const text = jsQR.default(new Uint8ClampedArray(png.data), png.width, png.height)?.data;
  const pixel = (x: number, y: number) => [...png.data.subarray((y * png.width + x) * 4, (y * png.width + x) * 4 + 4)];
  return { png, text, pixel };
}

describe('GET /qr', () => {
  it('draws a code that decodes to the URL, of 600 pixels, black on white, embeddable on every site', async () => {
    const { headers } = await getQr({ url: `${shortLink}?qr=1` });
    expect(headers).toMatchObject({ 'content-type': 'image/png', 'access-control-allow-origin': '*' });
    expect(headers['cache-control']).toContain('max-age');
    const { png, text, pixel } = await drawn({ url: `${shortLink}?qr=1` });
    expect([png.width, png.height, text]).toEqual([600, 600, `${shortLink}?qr=1`]);
    expect(pixel(0, 0)).toEqual([255, 255, 255, 255]);
  });

  it('has the level L and a margin of two modules by default', async () => {
    const { image } = await getQr({ url: shortLink });
    const defaults = { size: '600', level: 'L', margin: '2', fgColor: '#000000', bgColor: '#FFFFFF' };
    expect(image.equals((await getQr({ url: shortLink, ...defaults })).image)).toBe(true);
    for (const other of [{ level: 'M' }, { margin: '1' }, { margin: '3' }] as Record<string, string>[]) {
      expect(image.equals((await getQr({ url: shortLink, ...other })).image), JSON.stringify(other)).toBe(false);
    }
  });

  it.each(['L', 'M', 'Q', 'H'])('level %s at 300 pixels can be decoded, in any script', async (level) => {
    const url = 'https://acme.com/привет?q=日本';
    expect((await drawn({ url, level, size: '300' })).text).toBe(url);
  });

  it('accepts colors of 3, 6 and 8 digits, and a margin', async () => {
    // The smallest code has 21 modules: without a margin the corner is its first.
    const query = { url: 'acme.com', fgColor: '#00f', bgColor: 'FFFF0080', margin: '0', size: '84' };
    const { pixel } = await drawn(query);
    expect(pixel(0, 0)).toEqual([0, 0, 255, 255]);
    const wide = await drawn({ ...query, margin: '4', size: '330' });
    expect(wide.pixel(0, 0)).toEqual([255, 255, 0, 128]);
  });

  it('with more modules than pixels averages the colors of each pixel', async () => {
    const query = { url: 'acme.com', margin: '0', fgColor: '00f', bgColor: 'FF000080' };
    const [small, whole] = [await drawn({ ...query, size: '16' }), await drawn({ ...query, size: '84' })];
    expect([small.png.width, small.png.height]).toEqual([16, 16]);
    // Of the finder pattern's corner, 1.3125 modules wide and high, all is dark but 0.3125 by 0.3125.
    const light = (0.3125 / 1.3125) ** 2;
    const opacity = 255 * (1 - light) + 128 * light;
    const blue = (255 * 255 * (1 - light)) / opacity;
    expect(small.pixel(0, 0)).toEqual([255 - blue, 0, blue, opacity].map(Math.round));
    const meanOpacity = ({ png }: { png: PNG }) =>
      png.data.reduce((sum, value, at) => sum + (at % 4 === 3 ? value : 0), 0) / (png.data.length / 4);
    expect(meanOpacity(small)).toBeCloseTo(meanOpacity(whole), 0);
  });

  it('rounds fractions of size and margin, which are numbers in the SDK', async () => {
    const query = { url: 'acme.com', fgColor: '#00f', bgColor: 'FFFF0080' };
    const drawnAs = async (size: string, margin: string) => (await drawn({ ...query, size, margin })).png;
    const rounded = await drawnAs('331.4', '3.5');
    expect(rounded.width).toBe(331);
    expect(rounded.data.equals((await drawnAs('331', '4')).data)).toBe(true);
  });

  it('is drawn with its logo at every size with every margin', async () => {
    const url = `https://acme.com/${'x'.repeat(2900)}`;
    expect((await drawn({ url, size: '16', margin: '32' })).png.width).toBe(16);
    expect((await drawn({ url, size: '17.0', margin: '0.0' })).png.width).toBe(17);
    const query = { url: shortLink, logo: `${imagesUrl}/logo.png`, size: '60', margin: '32' };
    const { pixel } = await drawn(query);
    expect([pixel(0, 0), pixel(30, 30)]).toEqual([
      [255, 255, 255, 255],
      [255, 0, 0, 255],
    ]);
  });

  it.each([
    ['no url', {}, 400],
    ['an invalid url', { url: 'no url' }, 422],
    ['a url that is too long for a code', { url: `https://acme.com/${'x'.repeat(3000)}` }, 422],
    ['size 15', { url: 'acme.com', size: '15' }, 422],
    ['size 2049', { url: 'acme.com', size: '2049' }, 422],
    ['a size that is no number', { url: 'acme.com', size: 'x' }, 400],
    ['level X', { url: 'acme.com', level: 'X' }, 422],
    ['a color by name', { url: 'acme.com', fgColor: 'red' }, 422],
    ['margin 33', { url: 'acme.com', margin: '33' }, 422],
    ['margin 32.1', { url: 'acme.com', margin: '32.1' }, 422],
    ['a margin that is no number', { url: 'acme.com', margin: '1e1' }, 400],
  ])('%s answers %i with the error body', async (_what, query, status) => {
    const response = await management.app.inject({ method: 'GET', url: '/qr', query, remoteAddress: '10.1.0.1' });
    expect([response.statusCode, Object.keys(response.json())]).toEqual([status, ['error']]);
    await management.redis.del(...(await management.redis.keys('*limit*')), 'none');
  });

  it('answers a preflight', async () => {
    const response = await management.app.inject({ method: 'OPTIONS', url: '/qr' });
    expect([response.statusCode, response.headers['access-control-allow-methods']]).toEqual([204, 'GET, OPTIONS']);
  });

  it('allows ten codes in ten seconds per address', async () => {
    const statuses: number[] = [];
    for (let count = 0; count < 11; count++) statuses.push((await getQr({ url: 'acme.com' }, '10.9.9.9')).status);
    expect(statuses).toEqual([...Array(10).fill(200), 429]);
    expect((await getQr({ url: 'acme.com' }, '10.9.9.8')).status).toBe(200);
  });

  it('counts an address once, whichever port a proxy writes behind it', async () => {
    const forwarded = async (address: string) => {
      const headers = { 'x-forwarded-for': address };
      return (await management.app.inject({ url: '/qr', query: { url: 'acme.com' }, headers })).statusCode;
    };
    const statuses: number[] = [];
    for (let port = 1; port <= 11; port++) statuses.push(await forwarded(`10.9.9.7:${port}`));
    expect(statuses).toEqual([...Array(10).fill(200), 429]);
    expect(await forwarded('10.9.9.6:1')).toBe(200);
  });

  it('counts the addresses of an IPv6 /64 as one', async () => {
    const statuses: number[] = [];
    for (let count = 0; count < 11; count++) {
      statuses.push((await getQr({ url: 'acme.com' }, `2001:db8:9:9::${count}`)).status);
    }
    expect(statuses).toEqual([...Array(10).fill(200), 429]);
    expect((await getQr({ url: 'acme.com' }, '2001:db8:9:8::1')).status).toBe(200);
  });
});

describe('a logo', () => {
  const isRed = (pixel: number[]) => expect(pixel).toEqual([255, 0, 0, 255]);

  it('is drawn into codes of short links, which can still be decoded, and fetched once for equal codes', async () => {
    const query = { url: `${shortLink}?qr=1`, logo: `${imagesUrl}/logo.png`, level: 'H' };
    const { text, pixel } = await drawn(query);
    expect(text).toBe(query.url);
    isRed(pixel(300, 300));
    await drawn(query);
    expect(fetched).toEqual(['/logo.png']);
  });

  it('is left out for other URLs, on the free plan, when it is hidden or not an http URL', async () => {
    const free = await aCaller(management, 'free');
    await management.catalog.links.create(free.workspaceId, { domain: free.host, key: 'x', url: 'https://acme.com' });
    const logo = `${imagesUrl}/logo.png`;
    await drawn({ url: 'https://elsewhere.example/try', logo });
    await drawn({ url: `https://${free.host}/x`, logo });
    await drawn({ url: shortLink, logo, hideLogo: 'true' });
    await drawn({ url: shortLink, logo: 'file:///etc/passwd' });
    expect(fetched).toEqual([]);
  });

  it('is left out for links that are out of service, as for those that do not exist', async () => {
    const { workspaceId, host } = await aCaller(management);
    const { links, domains } = management.catalog;
    const disabledAt = new Date().toISOString();
    await links.create(workspaceId, { domain: host, key: 'off', url: 'https://acme.com', disabledAt });
    await links.create(workspaceId, { domain: host, key: 'on', url: 'https://acme.com' });
    const logo = `${imagesUrl}/page.png`;
    const statusOf = async (key: string) => (await getQr({ url: `https://${host}/${key}`, logo })).status;
    expect(await Promise.all(['on', 'off', 'absent'].map(statusOf))).toEqual([422, 200, 200]);
    const domain = await domains.findBySlug(host);
    await domains.update(workspaceId, domain?.id ?? '', { archived: true });
    expect(await Promise.all(['on', 'off', 'absent'].map(statusOf))).toEqual([200, 200, 200]);
  });

  it('of the domain is used when the request has none, and left out when it cannot be loaded', async () => {
    const caller = await aCaller(management);
    const domain = await management.catalog.domains.findBySlug(caller.host);
    const setLogo = (logo: string) => management.catalog.domains.update(caller.workspaceId, domain?.id ?? '', { logo });
    const url = `https://${caller.host}`;
    const inline = `data:image/png;base64,${aLogo().toString('base64')}`;
    await setLogo(inline);
    const { text, pixel } = await drawn({ url });
    expect(text).toBe(url);
    isRed(pixel(300, 300));
    await setLogo(`${imagesUrl}/page.png`);
    expect((await getQr({ url })).status).toBe(200);
  });

  it('of the domain is left out while the link cannot be looked up; one of the request refuses it', async () => {
    const away = new ApiError('internal_server_error', 'A store does not answer.', { retryAfterSeconds: 1 });
    const lookUp = vi.spyOn(management.catalog.links, 'findByAddress').mockRejectedValue(away);
    const named = await getQr({ url: shortLink, logo: `${imagesUrl}/logo.png` });
    expect([named.status, named.headers['retry-after']]).toEqual([500, '1']);
    expect((await drawn({ url: shortLink, fgColor: '#123456' })).text).toBe(shortLink);
    lookUp.mockRestore();
  });

  it('of a request refuses a text that no code with a logo can hold; that of the domain is left out', async () => {
    const caller = await aCaller(management);
    const domain = await management.catalog.domains.findBySlug(caller.host);
    const logo = `${imagesUrl}/logo.png`;
    await management.catalog.domains.update(caller.workspaceId, domain?.id ?? '', { logo });
    const url = `https://${caller.host}?x=${'y'.repeat(1700)}`;
    expect((await drawn({ url, size: '1200' })).text).toBe(url);
    const { status, image } = await getQr({ url, size: '1200', logo });
    expect([status, JSON.parse(image.toString()).error.message]).toEqual([
      422,
      'too_big: url: must not be longer than a QR code with a logo can hold',
    ]);
  });

  it.each([
    ['a page', '/page.png'],
    ['more than half a megabyte', '/large.png'],
    ['an image that claims to be huge', '/bomb.png'],
    ['a redirect', '/redirect.png'],
  ])('%s answers 422', async (_what, path) => {
    expect((await getQr({ url: shortLink, logo: `${imagesUrl}${path}` })).status).toBe(422);
  });

  it.each([
    ['/wide.png', 'too_big: logo: must be at most 1024 pixels wide and high'],
    ['/interlaced.png', 'invalid_value: logo: must not be interlaced'],
  ])('is not decoded: %s', async (path, message) => {
    const { status, image } = await getQr({ url: shortLink, logo: `${imagesUrl}${path}` });
    expect([status, JSON.parse(image.toString()).error.message]).toEqual([422, message]);
  });

  it('with a second header, which could claim any size, is not decoded', async () => {
    const { status, image } = await getQr({ url: shortLink, logo: `${imagesUrl}/two-headers.png` });
    expect([status, JSON.parse(image.toString()).error.message]).toEqual([
      422,
      'invalid_value: logo: must have exactly one header, at its beginning',
    ]);
  });

  it('with 16 bits per channel has a lower size limit', async () => {
    const { image } = await getQr({ url: shortLink, logo: `${imagesUrl}/deep.png` });
    expect(JSON.parse(image.toString()).error.message).toBe(
      'too_big: logo: must be at most 512 pixels wide and high with 16 bits a channel',
    );
  });

  it.each([
    'http://10.0.0.1/x.png',
    'http://[::1]/x.png',
    'http://169.254.169.254/latest',
    'http://localhost.:1/x.png',
  ])('at %s is not fetched, and the answer does not say why', async (logo) => {
    const { status, image } = await getQr({ url: shortLink, logo });
    expect([status, JSON.parse(image.toString()).error.message]).toEqual([
      422,
      'invalid_value: logo: could not be fetched',
    ]);
  });
});
