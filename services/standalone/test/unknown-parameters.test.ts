import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type DocumentedApi, type DocumentedRoute, startDocumentedApi } from './documented-api.js';

// A list without the filter that its caller misspelt holds more than the caller asked for: nothing in it says so.

/** Its `url` is often written without encoding, so that parameters of the URL stand beside those of the request. */
const OPEN = ['GET /qr'];

let documented: DocumentedApi;
let routes: readonly DocumentedRoute[];

function queryNames({ parameters }: DocumentedRoute): string[] {
  return parameters.filter((one) => one.in === 'query').map(({ name }) => name);
}

beforeAll(async () => {
  documented = await startDocumentedApi();
  routes = documented.routes.filter(
    (route) => route.name.startsWith('GET ') && queryNames(route).length > 0 && !OPEN.includes(route.name),
  );
});
afterAll(() => documented.close());

/** One letter too many. */
function misspelt(name: string): string {
  const middle = Math.ceil(name.length / 2);
  return `${name.slice(0, middle)}x${name.slice(middle)}`;
}

it('every route that filters is among those tried', () => {
  const names = routes.map(({ name }) => name);
  for (const path of ['events', 'analytics', 'links', 'links/count', 'customers', 'partners', 'partners/analytics']) {
    expect(names).toContain(`GET /${path}`);
  }
  for (const path of ['tags', 'folders', 'domains', 'webhooks', 'partners/applications', 'partners/links']) {
    expect(names).toContain(`GET /${path}`);
  }
});

it('a misspelt parameter of any route that reads is refused, and the refusal names it and the one that was meant', async () => {
  for (const route of routes) {
    const { name, example } = route;
    for (const meant of queryNames(route)) {
      const given = misspelt(meant);
      const { status, message } = await documented.send({ ...example, query: { ...example.query, [given]: '1' } });
      expect([name, status, message]).toEqual([
        name,
        422,
        `unrecognized_keys: ${given}: is not a parameter of this request; did you mean "${meant}"?`,
      ]);
    }
  }
});

it.each([
  ['contry', 'country'],
  ['partnerIds', 'partnerId'],
  ['customerIds', 'customerId'],
  ['COUNTRY', 'country'],
  ['utm-source', 'utm_source'],
])('%s on /events and /analytics is taken for %s', async (given, meant) => {
  for (const route of ['GET /events', 'GET /analytics'] as const) {
    const { status, message } = await documented.send({ route, query: { [given]: 'US' } });
    expect(status).toBe(422);
    expect(message).toMatch(new RegExp(`: (?:${given}|\\["${given}"\\]): .*did you mean "${meant}"`));
  }
});

it('a name of any length is answered shortly', async () => {
  const { status, message } = await documented.send({
    route: 'GET /events',
    query: { [`country${'x'.repeat(50_000)}`]: '1' },
  });
  expect(status).toBe(422);
  expect(message.length).toBeLessThan(300);
});

it('parameters that old clients add to everything are ignored on every route', async () => {
  for (const { name, example } of routes) {
    const asked = await documented.send(example);
    const query = { ...example.query, workspaceId: 'ws_1', projectSlug: 'acme', _: '1700000000000' };
    const { status, message } = await documented.send({ ...example, query });
    expect([name, status, message]).toEqual([name, asked.status, asked.message]);
  }
});

it('every parameter that the SDK can send is known to its route', () => {
  const directory = new URL('./', import.meta.resolve('dub/funcs/linksList.js'));
  const sent = readdirSync(fileURLToPath(directory))
    .filter((file) => file.endsWith('.js'))
    .flatMap((file) => {
      const text = readFileSync(new URL(file, directory), 'utf8');
      const path = /pathToFunc\("([^"]+)"\)/.exec(text)?.[1];
      const isRead = /method: "GET"/.test(text);
      const block = [...(/encodeFormQuery\(\{([^}]*)\}/.exec(text)?.[1]?.matchAll(/"(\w+)":/g) ?? [])];
      return isRead ? [{ name: `GET ${path}`, names: block.map(([, name = '']) => name) }] : [];
    });
  const known = new Map(routes.map((route) => [route.name as string, queryNames(route)]));
  const tried = sent.filter(({ name }) => known.has(name));
  expect(tried.length).toBeGreaterThanOrEqual(14);
  for (const { name, names } of tried) expect([name, known.get(name)]).toEqual([name, expect.arrayContaining(names)]);
  expect(known.get('GET /events')).toEqual(expect.arrayContaining(['utm_source', 'sortOrder', 'order', 'tagIds']));
});
