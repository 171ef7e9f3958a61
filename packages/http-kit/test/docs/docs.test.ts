import { readdirSync, readFileSync } from 'node:fs';
import { ERROR_STATUS, type ErrorCode, errorBody, eventSchema, eventsQuerySchema, linkSchema } from '@waymark/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { REFERENCE_DIRECTORY, renderMarkdown } from '../../src/docs/reference-pages.js';
import type { App } from '../../src/index.js';
import { aTestApp, DOC_BASE } from '../test-app.js';

let app: App;
let reference: string;
let errors: string;

beforeAll(async () => {
  ({ app } = aTestApp({ baseUrl: 'https://api.example.com/v1', title: 'A <title>' }, (routes) => {
    const events = { querystring: eventsQuerySchema, response: { 200: z.array(eventSchema) } };
    routes.get('/events', { schema: { tags: ['Events'], summary: 'List `events`', ...events } }, async () => []);
    const link = { params: z.object({ linkId: z.string() }), response: { 200: linkSchema } };
    routes.get('/links/:linkId', { schema: link }, async () => Promise.reject(new Error()));
  }));
  reference = (await app.inject('/docs')).body;
  errors = (await app.inject('/docs/api-reference/errors')).body;
});
afterAll(() => app.close());

const anchorsOf = (page: string) => new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, anchor]) => anchor));

it('shows every route with its parameters, and every object with its fields', () => {
  for (const text of ['<code>/events</code>', '<code>/links/{linkId}</code>', '<code>timezone</code>', 'Events']) {
    expect(reference).toContain(text);
  }
  expect(reference).toContain('List <code>events</code>');
  const [, link = ''] = reference.split('id="object-Link"');
  for (const field of Object.keys(linkSchema.shape)) expect(link).toContain(`<code>${field}</code>`);
  expect(link).toContain('object with values of type string');
});

it('doc_url of every error leads to a section that explains it', () => {
  const anchors = anchorsOf(errors);
  for (const code of Object.keys(ERROR_STATUS) as ErrorCode[]) {
    const [address, anchor] = errorBody(code, '', DOC_BASE).error.doc_url.split('#');
    expect(address).toBe(`${DOC_BASE}/api-reference/errors`);
    expect(anchors).toContain(anchor);
  }
});

/** Addresses of all pages: those of the files, and those that are generated from the routes. */
const files = readdirSync(REFERENCE_DIRECTORY).filter((file) => file !== 'README.md');
const pages = ['/', '/docs', '/docs/api-reference/errors', '/docs/reference'].concat(
  files.map((file) => `/docs/reference/${file.replace('.md', '')}`),
);
const browse = (url: string) => app.inject({ url, headers: { accept: 'text/html,*/*;q=0.8' } });

it('serves every file of docs/reference under its title, with links to it from /docs and from each other', async () => {
  expect(files.length).toBeGreaterThan(9);
  const navigation = reference.slice(0, reference.indexOf('</nav>'));
  const index = (await browse('/docs/reference')).body;
  for (const file of files) {
    const name = file.replace('.md', '');
    const [, title] = /^# (.+)$/m.exec(readFileSync(`${REFERENCE_DIRECTORY}/${file}`, 'utf8')) ?? [];
    const answer = await browse(`/docs/reference/${name}`);
    expect(answer.statusCode).toBe(200);
    expect(answer.body).toContain(`<title>${title} · A &lt;title&gt;</title>`);
    expect(answer.body).toMatch(new RegExp(`<h1 id="[^"]+">${title}</h1>`));
    expect(navigation).toContain(`<a href="docs/reference/${name}">${title}</a>`);
    expect(index.slice(index.indexOf('<main>'))).toContain(`<a href="reference/${name}">`);
  }
});

it('has no other page of the reference', async () => {
  for (const name of ['README', 'nothing', '..%2Fproduction', 'errors.md']) {
    const answer = await browse(`/docs/reference/${name}`);
    expect(answer.statusCode).toBe(404);
    expect(answer.json().error.code).toBe('not_found');
  }
});

it('every link of every page resolves on the server, anchors included', async () => {
  for (const path of pages) {
    const page = (await browse(path)).body;
    const targets = [...page.matchAll(/href="([^"]+)"/g)].map(([, target = '']) => target);
    expect(targets.length).toBeGreaterThan(1);
    for (const target of targets.filter((href) => !href.startsWith('https:'))) {
      const { pathname, hash } = new URL(target, `http://host${path}`);
      const answer = await browse(pathname);
      expect([path, target, answer.statusCode]).toEqual([path, target, 200]);
      if (hash !== '')
        expect([path, target, anchorsOf(answer.body)]).toEqual([
          path,
          target,
          expect.toSatisfy((ids) => ids.has(decodeURIComponent(hash.slice(1)))),
        ]);
    }
  }
});

it('shows raw HTML of a Markdown file as text, and no link to a file that is not served', () => {
  const names = new Set(['errors', 'README']);
  const from = { docs: '../../docs', index: '../reference', pages: '' };
  const { text } = renderMarkdown(
    '# A `b`\n\n<script>1</script>\n\n<b>x</b> [e](errors.md#a) [i](README.md) [far](../../SECURITY.md)',
    from,
    names,
  );
  expect(text).toContain('<h1 id="a-b">');
  expect(text).not.toMatch(/<script|<b>/);
  expect(text).toContain('<a href="errors#a">e</a> <a href="../reference">i</a> far');
});

describe('GET /', () => {
  it('is a page for browsers with links to the documentation and to the other system routes of the service', async () => {
    const answer = await browse('/');
    expect(answer.statusCode).toBe(200);
    expect(answer.headers).toMatchObject({ 'content-type': 'text/html; charset=utf-8', vary: 'accept' });
    for (const path of ['docs', 'docs/reference', 'openapi.json', 'readyz'])
      expect(answer.body).toContain(`href="${path}"`);
    expect(answer.body).not.toContain('href="ops"');
  });

  it('points programs to the documentation and the OpenAPI document', async () => {
    for (const accept of ['application/json', '*/*', undefined]) {
      const answer = await app.inject({ url: '/', headers: accept === undefined ? {} : { accept } });
      expect(answer.headers).toMatchObject({ 'content-type': 'application/json; charset=utf-8', vary: 'accept' });
      expect(answer.json()).toEqual({
        name: 'A <title>',
        documentation: DOC_BASE,
        openapi: 'https://api.example.com/v1/openapi.json',
      });
    }
  });

  it('is a short link on ports without system routes', async () => {
    const { app: links } = aTestApp({ systemRoutes: false });
    expect((await links.inject({ url: '/', headers: { accept: 'text/html' } })).statusCode).toBe(404);
    await links.close();
  });
});

it('pages load and run nothing, and escape all texts', async () => {
  const answer = await app.inject('/docs');
  expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
  expect(answer.headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'sha256-/);
  for (const page of [reference, errors]) {
    expect(page).not.toMatch(/<script|<link|<img| src=| on\w+=| style=/);
    expect(page).toContain('A &lt;title&gt;');
    expect(page).not.toContain('A <title>');
  }
});

it('the pages are not part of the OpenAPI document', async () => {
  expect(Object.keys((await app.inject('/openapi.json')).json().paths)).toEqual(['/events', '/links/{linkId}']);
});

it('no document is made or encoded again for another request, so that a packet full of requests blocks nobody', async () => {
  const { app: counted } = aTestApp();
  const sent = new Map<string, Set<unknown>>();
  counted.addHook('onSend', async ({ url }, _reply, payload) => {
    sent.set(url, (sent.get(url) ?? new Set()).add(payload));
  });
  const paths = ['/openapi.json', ...pages];
  for (const url of [...paths, ...paths]) await counted.inject({ url, headers: { accept: 'text/html' } });
  for (const path of paths) {
    const bodies = [...(sent.get(path) ?? [])];
    expect(bodies, path).toEqual([expect.any(Buffer)]);
  }
  await counted.close();
});
