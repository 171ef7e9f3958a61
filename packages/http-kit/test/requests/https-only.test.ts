import { afterEach, expect, it } from 'vitest';
import type { App } from '../../src/index.js';
import { aTestApp } from '../test-app.js';

const BROWSER_ROUTES = [
  ['scripts', 'POST', 'Content-Type, Authorization'],
  ['images', 'GET', undefined],
] as const;

let app: App;
afterEach(() => app.close());

function start(requireHttps: boolean): void {
  ({ app } = aTestApp({ requireHttps, trustedProxies: ['10.0.0.0/8'] }, (routes) => {
    routes.get('/echo', async (request) => ({ ip: request.ip, protocol: request.protocol }));
    for (const [crossOrigin, method] of BROWSER_ROUTES) {
      const config = { crossOrigin };
      routes.route({ method, url: `/${crossOrigin}`, config, handler: async () => 'served' });
      routes.options(`/${crossOrigin}`, { config }, async (_request, reply) => reply.code(204).send());
    }
  }));
}

const through = (proxy: string, headers: Record<string, string>, url = '/echo') =>
  app.inject({ url, remoteAddress: proxy, headers });

it('plain HTTP is rejected with 403, not redirected', async () => {
  start(true);
  const response = await through('10.0.0.1', { 'x-forwarded-proto': 'http' });
  expect(response.statusCode).toBe(403);
  expect(response.json().error.code).toBe('forbidden');
});

it.each(BROWSER_ROUTES)(
  'a page can read the 403 for a plain HTTP call of a route for %s, and for its preflight',
  async (crossOrigin, method, allowedHeaders) => {
    start(true);
    const url = `/${crossOrigin}`;
    for (const sent of [method, 'OPTIONS'] as const) {
      const response = await app.inject({ method: sent, url, remoteAddress: '10.0.0.1' });
      expect(response.statusCode).toBe(403);
      expect(response.headers).toMatchObject({
        'access-control-allow-origin': '*',
        'access-control-allow-methods': `${method}, OPTIONS`,
      });
      expect(response.headers['access-control-allow-headers']).toBe(allowedHeaders);
    }
  },
);

it('no other route is open to other origins', async () => {
  start(true);
  for (const url of ['/echo', '/nope', '/healthz']) {
    expect((await through('10.0.0.1', {}, url)).headers).not.toHaveProperty('access-control-allow-origin');
  }
});

it('the listed routes are served over plain HTTP', async () => {
  ({ app } = aTestApp({ requireHttps: true, plainHttpPaths: ['/open/*'] }, (routes) => {
    routes.get('/open/*', async () => 'served');
    routes.get('/closed', async () => 'served');
  }));
  expect((await app.inject('/open/to/all')).statusCode).toBe(200);
  expect((await app.inject('/closed')).statusCode).toBe(403);
});

it('HTTPS terminated at a trusted proxy is served', async () => {
  start(true);
  expect((await through('10.0.0.1', { 'x-forwarded-proto': 'https' })).statusCode).toBe(200);
});

it('a forwarded protocol from an untrusted client is ignored', async () => {
  start(true);
  expect((await through('203.0.113.9', { 'x-forwarded-proto': 'https' })).statusCode).toBe(403);
});

it('an unknown route over plain HTTP answers 403, not 404', async () => {
  start(true);
  expect((await through('10.0.0.1', {}, '/nope')).statusCode).toBe(403);
});

it('probes need no HTTPS', async () => {
  start(true);
  expect((await through('10.0.0.1', {}, '/healthz')).statusCode).toBe(200);
  expect((await through('10.0.0.1', {}, '/readyz')).statusCode).toBe(200);
});

it('without the setting plain HTTP is served, and forwarded addresses count from trusted proxies only', async () => {
  start(false);
  const headers = { 'x-forwarded-for': '198.51.100.7', 'x-forwarded-proto': 'https' };
  expect((await through('10.0.0.1', headers)).json()).toEqual({ ip: '198.51.100.7', protocol: 'https' });
  expect((await through('203.0.113.9', headers)).json()).toEqual({ ip: '203.0.113.9', protocol: 'http' });
});
