import { afterAll, beforeAll, expect, it } from 'vitest';
import { startWholeApi, type WholeApi } from '../contract/whole-api.js';

let api: WholeApi;
let publishable: string;
beforeAll(async () => {
  api = await startWholeApi();
  const { publishableKey } = await api.catalog.workspaces.create({
    ...{ name: 'Acme', slug: 'acme', plan: 'enterprise', domain: 'go.acme.com' },
  });
  publishable = publishableKey.token;
});
afterAll(() => api.close());

/** Public routes, and the two routes for publishable keys. */
const OPEN = [
  'GET /qr',
  ...['click', 'open', 'visit', 'lead/client', 'sale/client'].map((what) => `POST /track/${what}`),
];

it('a publishable key, which is visible in web pages, gives access to two routes only', async () => {
  const { paths } = (await (await fetch(`${api.url}/openapi.json`)).json()) as { paths: Record<string, object> };
  const routes = Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(routes).toEqual(expect.arrayContaining(OPEN));
  const opened = [];
  for (const route of routes.filter((name) => !OPEN.includes(name))) {
    const [method = '', path = ''] = route.split(' ');
    const { status } = await fetch(api.url + path.replaceAll(/\{\w+\}/g, 'x'), {
      method,
      headers: { authorization: `Bearer ${publishable}` },
    });
    if (status !== 401) opened.push(`${route} ${status}`);
  }
  expect(opened).toEqual([]);
});
