import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Metatags, metatagsSchema } from '@waymark/contract';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { aCaller, type Caller, startManagement, type TestManagement, withKey } from '../test-management.js';

let management: TestManagement;
let acme: Caller;
let server: Server;
let port: number;
let respond: (response: ServerResponse, path: string) => void;
let requests: string[];

const NOTHING = { title: null, description: null, image: null };

const page =
  (html: string | Buffer, type = 'text/html; charset=utf-8', status = 200) =>
  (response: ServerResponse) =>
    void response.writeHead(status, { 'content-type': type }).end(html);

async function tagsOf(url: string): Promise<Metatags> {
  const { status, body } = await acme.get<Metatags>(`/links/metatags?url=${encodeURIComponent(url)}`);
  expect(status, JSON.stringify(body)).toBe(200);
  return metatagsSchema.parse(body);
}
const here = (path = '/') => `http://127.0.0.1:${port}${path}`;

beforeAll(async () => {
  management = await startManagement();
  server = createServer((request, response) => {
    requests.push(`${request.headers.host} ${request.url}`);
    respond(response, request.url ?? '');
  });
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
});
beforeEach(async () => {
  requests = [];
  // The rate limit is per workspace.
  acme = await aCaller(management);
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await management.close();
});

describe('GET /links/metatags', () => {
  it.each([
    [
      'its title, description and Open Graph image',
      '<title>A &amp; B</title><meta name="Description" content=" two\n words "><meta property="og:image" content="/i.png">',
      { title: 'A & B', description: 'two words', image: '/i.png' },
    ],
    [
      'Open Graph before the rest',
      '<title>x</title><meta property="og:title" content="y"><meta name=description content=x><meta property="og:description" content=y>',
      { title: 'y', description: 'y', image: null },
    ],
    [
      'Twitter tags',
      '<meta name="twitter:title" content="t"><meta name="twitter:image" content="https://i.example/x.png">',
      { title: 't', description: null, image: 'https://i.example/x.png' },
    ],
    ['nothing of a page without a head', '<p>text</p>', NOTHING],
    ['nothing of the body', '<body><title>x</title><meta property="og:title" content="x"></body>', NOTHING],
    ['no image that is no web address', '<meta property="og:image" content="javascript:alert(1)">', NOTHING],
    ['nothing of scripts', '<script>"<title>x</title>"</script><!-- <title>y</title> -->', NOTHING],
    [
      'as much text as fits',
      `<title>${'x'.repeat(499)}😀😀</title>`,
      { title: 'x'.repeat(499), description: null, image: null },
    ],
  ])('answers %s', async (_what, html, tags) => {
    respond = page(html);
    const image = tags.image?.startsWith('/') ? here(tags.image) : tags.image;
    expect(await tagsOf(here())).toEqual({ ...tags, image });
  });

  it.each([
    ['text/html; charset=iso-8859-1', Buffer.from('<title>café</title>', 'latin1')],
    ['text/html', Buffer.from('<meta charset="windows-1252"><title>café</title>', 'latin1')],
    ['text/html; charset=none-such', Buffer.from('<title>café</title>')],
  ])('reads a page in its encoding: %s', async (type, html) => {
    respond = page(html, type);
    expect((await tagsOf(here())).title).toBe('café');
  });

  it('follows a few redirects, and resolves the image against the final URL', async () => {
    const hop = (response: ServerResponse, path: string) => {
      if (path === '/end/') return page('<title>end</title><meta property="og:image" content="i.png">')(response);
      return void response.writeHead(302, { location: path === '/2' ? '/end/' : '/2' }).end();
    };
    respond = hop;
    expect(await tagsOf(here('/1'))).toEqual({ title: 'end', description: null, image: here('/end/i.png') });
    respond = (response) => void response.writeHead(301, { location: '/again' }).end();
    requests = [];
    expect(await tagsOf(here('/loop'))).toEqual(NOTHING);
    expect(requests).toHaveLength(4);
  });

  it('reaches no private network, directly or by a redirect, and answers as for any other failure', async () => {
    respond = page('<title>secret</title>');
    for (const url of [`http://127.0.0.2:${port}/`, `http://[::1]:${port}/`, `http://2130706434:${port}/`]) {
      expect(await tagsOf(url), url).toEqual(NOTHING);
    }
    expect(requests).toEqual([]);
    respond = (response) => void response.writeHead(302, { location: `http://127.0.0.2:${port}/secret` }).end();
    expect(await tagsOf(here('/out'))).toEqual(NOTHING);
    expect(requests).toEqual([`127.0.0.1:${port} /out`]);
    respond = (response) => void response.writeHead(302, { location: 'file:///etc/passwd' }).end();
    expect(await tagsOf(here('/file'))).toEqual(NOTHING);
  });

  it.each([
    [
      'does not end',
      (response: ServerResponse) =>
        void response.writeHead(200, { 'content-type': 'text/html' }).write('<title>x</title>'),
    ],
    [
      'goes on in too many small pieces',
      (response: ServerResponse) => {
        const pieces = () => void response.socket?.write('1\r\n \r\n'.repeat(10_000));
        response.writeHead(200, { 'content-type': 'text/html' }).write('<title>x</title>', pieces);
      },
    ],
  ])('reads a page that %s as far as it came', async (_what, answer) => {
    respond = answer;
    expect((await tagsOf(here())).title).toBe('x');
  });

  it.each([
    ['another status', page('<title>x</title>', 'text/html', 404)],
    ['what is no page', page('<title>x</title>', 'application/json')],
    ['what comes after 512 kB', page(`<head>${' '.repeat(600_000)}<title>x</title>`)],
    ['what comes after a hundred open elements', page(`${'<div>'.repeat(100_000)}<title>x</title>`)],
    ['a broken answer', (response: ServerResponse) => void response.destroy()],
    [
      'an answer without an end',
      (response: ServerResponse) => void response.writeHead(200, { 'content-type': 'text/html' }).write('<p>'),
    ],
  ])('answers nothing for %s', async (_what, answer) => {
    respond = answer;
    expect(await tagsOf(here())).toEqual(NOTHING);
  });

  it.each([
    '',
    'x y',
    'mailto:a@b.c',
    'javascript:alert(1)',
    'file:///etc/passwd',
    `https://a.example/${'x'.repeat(40_000)}`,
  ])('refuses what is no web address: %s', async (url) => {
    const { status } = await acme.get(`/links/metatags?url=${encodeURIComponent(url)}`);
    expect([400, 422, 431]).toContain(status);
  });

  it('is not slowed down by very long URLs in a page or a redirect', async () => {
    const ideographs = Array.from({ length: 31_000 }, (_, index) => String.fromCharCode(0x4e00 + (index % 8_000))).join(
      '',
    );
    const latin = Array.from({ length: 15_000 }, (_, index) => String.fromCharCode(0xe0 + (index % 23))).join('');
    const before = process.cpuUsage();
    for (const start of ['//', 'https://', '\u0001//', '/\\ ', 'http:']) {
      respond = page(`<meta property="og:image" content="${start}${ideographs}/">`);
      expect(await tagsOf(here()), start).toEqual(NOTHING);
    }
    respond = (response) => void response.writeHead(302, { location: `//${latin}/` }).end();
    expect(await tagsOf(here())).toEqual(NOTHING);
    expect(process.cpuUsage(before).user).toBeLessThan(1_000_000);
  });

  it('is limited by workspace, and for keys with links.read', async () => {
    respond = page('<title>x</title>');
    const path = `/links/metatags?url=${encodeURIComponent(here())}`;
    expect((await (await withKey(management, acme, 'viewer', ['tags.read'])).get(path)).status).toBe(403);
    const headers = { authorization: `Bearer ${acme.token}` };
    expect((await management.app.inject({ url: path, headers })).headers['x-ratelimit-limit']).toBe('60');
    const answers = await Promise.all(Array.from({ length: 125 }, () => acme.get(path)));
    expect(answers.filter(({ status }) => status === 429).length).toBeGreaterThanOrEqual(1);
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(120);
    const other = await aCaller(management);
    expect((await Promise.all([acme.get(path), other.get(path)])).map(({ status }) => status)).toEqual([429, 200]);
  });
});
