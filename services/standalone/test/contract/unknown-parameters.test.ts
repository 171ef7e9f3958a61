import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type DocumentedApi, type DocumentedRoute, startDocumentedApi } from './documented-api.js';

// If a misspelt filter were ignored, a list would contain more than its caller requested. The rule is the same for every route with a
// secret key, whatever its method and whether or not it has parameters.

/** Routes that web pages call or embed: pages and embedding sites may add parameters of their own. */
const OPEN = [
  'GET /qr',
  ...['click', 'open', 'visit', 'lead/client', 'sale/client'].map((path) => `POST /track/${path}`),
];

let documented: DocumentedApi;
let routes: readonly DocumentedRoute[];

function queryNames({ parameters }: DocumentedRoute): string[] {
  return parameters.filter((one) => one.in === 'query').map(({ name }) => name);
}

beforeAll(async () => {
  documented = await startDocumentedApi();
  routes = documented.routes.filter(({ name }) => !OPEN.includes(name));
});
afterAll(() => documented.close());

/** Adds a letter. */
function misspelt(name: string): string {
  const middle = Math.ceil(name.length / 2);
  return `${name.slice(0, middle)}x${name.slice(middle)}`;
}

it('the tested routes include every filter route, single resources and writes', () => {
  const names = routes.map(({ name }) => name);
  expect(documented.routes.length - routes.length).toBe(OPEN.length);
  for (const route of ['GET /links/{linkId}', 'DELETE /tags/{id}', 'PATCH /folders/{id}', 'GET /links/metatags']) {
    expect(names).toContain(route);
  }
  for (const path of ['events', 'analytics', 'links', 'links/count', 'customers', 'partners', 'partners/analytics']) {
    expect(names).toContain(`GET /${path}`);
  }
  for (const path of ['tags', 'folders', 'domains', 'webhooks', 'partners/applications', 'partners/links']) {
    expect(names).toContain(`GET /${path}`);
  }
});

it('a misspelt parameter is rejected on every route, with an error that names it and the intended one', async () => {
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
])('%s on /events and /analytics is recognised as %s', async (given, meant) => {
  for (const route of ['GET /events', 'GET /analytics'] as const) {
    const { status, message } = await documented.send({ route, query: { [given]: 'US' } });
    expect(status).toBe(422);
    expect(message).toMatch(new RegExp(`: (?:${given}|\\["${given}"\\]): .*did you mean "${meant}"`));
  }
});

it('an unknown parameter that is not a misspelling is rejected without a suggestion, on every route', async () => {
  for (const { name, example } of routes) {
    const query = { ...example.query, zzqjxw: '1' };
    const { status, message } = await documented.send({ ...example, query });
    expect([name, status, message]).toEqual([
      name,
      422,
      'unrecognized_keys: zzqjxw: is not a parameter of this request',
    ]);
  }
});

it('PUT rejects it on every route on which it is an alias of PATCH, documented or not', async () => {
  const aliases: string[] = [];
  for (const { name, example } of routes.filter((one) => one.name.startsWith('PATCH '))) {
    const route = name.replace('PATCH', 'PUT');
    const request = { ...example, route: route as typeof name };
    const { status, message } = await documented.send({ ...request, query: { zzqjxw: '1' } });
    if (message === 'The requested resource was not found.') continue;
    aliases.push(route);
    const words = 'unrecognized_keys: zzqjxw: is not a parameter of this request';
    expect([route, status, message]).toEqual([route, 422, words]);
  }
  expect(aliases).toEqual(expect.arrayContaining(['PUT /links/{linkId}', 'PUT /tags/{id}']));
});

it.each([
  ['GET /events', 'colour', 'is not a parameter of this request'],
  ['GET /events', 'zz', 'is not a parameter of this request'],
  ['GET /events', 'foo', 'is not a parameter of this request'],
  ['GET /events', 'tag', 'is not a parameter of this request; did you mean "tagId"?'],
  ['GET /links', 'paeg', 'is not a parameter of this request; did you mean "page"?'],
  ['GET /events', 'ciyt', 'is not a parameter of this request; did you mean "city"?'],
  ['GET /analytics', 'roto', 'is not a parameter of this request; did you mean "root"?'],
  ['GET /analytics', 'groupdI', 'is not a parameter of this request; did you mean "groupId"?'],
  ['GET /links/{linkId}', 'includeTags', 'is not a parameter of this request'],
  ['DELETE /links/bulk', 'linkId', 'is not a parameter of this request; did you mean "linkIds"?'],
] as const)('%s?%s=: %s', async (route, given, words) => {
  const { message } = await documented.send({ route, query: { [given]: '1' } });
  expect(message).toBe(`unrecognized_keys: ${given}: ${words}`);
});

it('routes that web pages call or embed accept unknown parameters', async () => {
  for (const { name, example } of documented.routes.filter((route) => OPEN.includes(route.name))) {
    const asked = await documented.send(example);
    const query = { ...example.query, utm_source: 'news', contry: 'US', _: '1' };
    const { status } = await documented.send({ ...example, query });
    expect([name, status]).toEqual([name, asked.status]);
  }
});

it('a repeated parameter with the same value has the same response, on every route', async () => {
  const cases = documented.routes.flatMap((route) => queryNames(route).map((name) => ({ route, name })));
  expect(cases.length).toBeGreaterThan(100);
  const compare = async ({ route, name }: (typeof cases)[number]) => {
    const { [name]: value = 'x', ...others } = route.example.query ?? {};
    const pair = [name, value] as const;
    const once = await documented.send({ ...route.example, query: { ...others, [name]: value } });
    const twice = await documented.send({ ...route.example, query: [...Object.entries(others), pair, pair] });
    expect([route.name, name, twice.status, twice.message]).toEqual([route.name, name, once.status, once.message]);
  };
  // Several at a time, because most of them read ClickHouse, but one export, because their number is limited.
  const isExport = ({ route }: (typeof cases)[number]) => route.name.endsWith('/export');
  const exports = cases.filter(isExport).values();
  const others = cases.filter((one) => !isExport(one)).values();
  const worker = async (left: typeof others) => {
    for (const one of left) await compare(one);
  };
  await Promise.all([exports, ...Array.from({ length: 5 }, () => others)].map(worker));
});

it.each([
  [
    'GET /links/info',
    [
      ['linkId', 'link_none'],
      ['linkId', 'ext_pricing-page'],
    ],
  ],
  [
    'GET /links/metatags',
    [
      ['url', 'https://acme.com'],
      ['url', 'mailto:a@acme.com'],
    ],
  ],
  [
    'GET /qr',
    [
      ['url', ''],
      ['url', 'https://acme.com'],
    ],
  ],
] as const)('%s: the last one of different values applies', async (route, query) => {
  // Once it exists, further requests are refused.
  await documented.send({ route: 'POST /links', body: { url: 'https://acme.com', externalId: 'pricing-page' } });
  const answers = [];
  for (const sent of [query.slice(0, 1), query.slice(1), query]) {
    const { status, message } = await documented.send({ route, query: sent });
    answers.push([status, message]);
  }
  const [first, last, both] = answers;
  expect(both).toEqual(last);
  expect(last).not.toEqual(first);
});

it('the error for a very long parameter name is short', async () => {
  const { status, message } = await documented.send({
    route: 'GET /events',
    query: { [`country${'x'.repeat(50_000)}`]: '1' },
  });
  expect(status).toBe(422);
  expect(message.length).toBeLessThan(300);
});

it('parameters that old clients add to every request are ignored on every route', async () => {
  for (const { name, example } of routes) {
    const query = { ...example.query, workspaceId: 'ws_1', projectSlug: 'acme', _: '1700000000000' };
    // A second request for a change may be refused, because it is made.
    if (!name.startsWith('GET ')) await documented.send(example);
    const without = await documented.send(example);
    const { status, message } = await documented.send({ ...example, query });
    expect([name, status, message]).toEqual([name, without.status, without.message]);
    expect([name, status < 500]).toEqual([name, true]);
  }
});

it('every parameter that the SDK can send is a parameter of its route', () => {
  const directory = new URL('./', import.meta.resolve('dub/funcs/linksList.js'));
  const sent = readdirSync(fileURLToPath(directory))
    .filter((file) => file.endsWith('.js'))
    .flatMap((file) => {
      const text = readFileSync(new URL(file, directory), 'utf8');
      const path = /pathToFunc\("([^"]+)"\)/.exec(text)?.[1];
      const method = /method: "([A-Z]+)"/.exec(text)?.[1];
      // A file has several blocks if the SDK encodes some of the parameters in another way.
      const blocks = [...text.matchAll(/encodeFormQuery\(\{([^}]*)\}/g)].map(([, block = '']) => block).join(',');
      const names = [...blocks.matchAll(/"(\w+)":/g)].map(([, name = '']) => name);
      return method === undefined ? [] : [{ name: `${method} ${path}`, names }];
    });
  const known = new Map(routes.map((route) => [route.name as string, queryNames(route)]));
  const tried = sent.filter(({ name }) => known.has(name));
  expect(tried.length).toBeGreaterThanOrEqual(35);
  for (const { name, names } of tried) expect([name, known.get(name)]).toEqual([name, expect.arrayContaining(names)]);
  const ofList = tried.find(({ name }) => name === 'GET /links')?.names;
  expect(ofList).toEqual(expect.arrayContaining(['tagIds', 'domain', 'pageSize', 'startingAfter']));
  expect(known.get('GET /events')).toEqual(expect.arrayContaining(['utm_source', 'sortOrder', 'order', 'tagIds']));
});
