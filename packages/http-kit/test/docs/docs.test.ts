import { ERROR_STATUS, type ErrorCode, errorBody, eventSchema, eventsQuerySchema, linkSchema } from '@waymark/contract';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
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
});

it('doc_url of every error leads to a section that explains it', () => {
  const anchors = anchorsOf(errors);
  for (const code of Object.keys(ERROR_STATUS) as ErrorCode[]) {
    const [address, anchor] = errorBody(code, '', DOC_BASE).error.doc_url.split('#');
    expect(address).toBe(`${DOC_BASE}/api-reference/errors`);
    expect(anchors).toContain(anchor);
  }
});

it('every link inside a page leads somewhere', async () => {
  for (const [path, page] of [
    ['/docs', reference],
    ['/docs/api-reference/errors', errors],
  ] as const) {
    for (const [, target = ''] of page.matchAll(/href="([^"]+)"/g)) {
      if (target.startsWith('#')) expect(anchorsOf(page)).toContain(target.slice(1));
      else expect((await app.inject(new URL(target, `http://host${path}`).pathname)).statusCode).toBe(200);
    }
  }
});

it('loads nothing, runs nothing, and escapes what it shows', async () => {
  const answer = await app.inject('/docs');
  expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
  expect(answer.headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'sha256-/);
  for (const page of [reference, errors]) {
    expect(page).not.toMatch(/<script|<link|<img| src=| on\w+=| style=/);
    expect(page).toContain('A &lt;title&gt;');
    expect(page).not.toContain('A <title>');
  }
});

it('is no part of the OpenAPI document', async () => {
  expect(Object.keys((await app.inject('/openapi.json')).json().paths)).toEqual(['/events', '/links/{linkId}']);
});
