import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { App } from '../../src/index.js';
import { aTestApp } from '../test-app.js';

/** Responses hold data of a workspace, or reveal something about it. */

let app: App;
beforeEach(() => {
  ({ app } = aTestApp({}, (routes) => {
    routes.get('/data', { schema: { querystring: z.object({ page: z.coerce.number().optional() }) } }, async () => [1]);
    routes.get('/fault', async () => {
      throw new TypeError('a fault');
    });
    routes.get('/image', async (_request, reply) => reply.header('cache-control', 'max-age=60').send('image'));
  }));
});
afterEach(() => app.close());

describe('responses are not cached, and browsers do not sniff their type', () => {
  it.each([
    ['data', '/data', 200],
    ['bad input', '/data?page=x', 400],
    ['a fault', '/fault', 500],
    ['an unknown path', '/nothing', 404],
    ['a path that cannot be decoded', '/%ff', 400],
    ['health', '/healthz', 200],
    ['the OpenAPI document', '/openapi.json', 200],
  ])('%s', async (_what, url, status) => {
    const { statusCode, headers } = await app.inject(url);
    expect(statusCode).toBe(status);
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
  });

  it('a route may make its response cacheable', async () => {
    const { headers } = await app.inject('/image');
    expect(headers).toMatchObject({ 'cache-control': 'max-age=60', 'x-content-type-options': 'nosniff' });
  });
});
