import { connect } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type DocumentedApi, type JsonSchema, startDocumentedApi } from './documented-api.js';

// The size of a request is limited before it is processed: every text and list has a maximum length, and a body has a maximum number
// of values.

let documented: DocumentedApi;
beforeAll(async () => {
  documented = await startDocumentedApi();
});
afterAll(() => documented.close());

/** Limited as a whole, as JSON text. */
const FREE_JSON = 'JsonValue';

/** A thousand ids of the caller's own. URLs have half of it; only images and the files that a domain serves may be longer. */
const TEXT_CHARS_MAX = 64_000;
const FILE_CHARS_MAX = 128 * 1024;
const IMAGE_CHARS_MAX = 1024 * 1024;
const ITEMS_MAX = 1000;

function charsMax(place: string): number {
  if (/\.(?:image|logo)$/.test(place)) return IMAGE_CHARS_MAX;
  return /\.(?:appleAppSiteAssociation|assetLinks)$/.test(place) ? FILE_CHARS_MAX : TEXT_CHARS_MAX;
}

const isOver = (bound = Number.POSITIVE_INFINITY, most: number) => bound > most;

/** Paths in the schema of texts and lists without a maximum length, or with one that is too high. */
function unbounded(schema: JsonSchema, place: string): string[] {
  const { $ref } = schema;
  if ($ref !== undefined) {
    const name = $ref.slice($ref.lastIndexOf('/') + 1);
    if (name.startsWith(FREE_JSON)) return [];
    return unbounded(documented.schemas[name] ?? {}, place);
  }
  const types = [schema.type].flat();
  const isChosen = schema.enum !== undefined || schema.const !== undefined;
  const inner: (readonly [string, JsonSchema | undefined])[] = [
    ...[...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])].map((one) => [place, one] as const),
    ...Object.entries(schema.properties ?? {}).map(([name, one]) => [`${place}.${name}`, one] as const),
    [`${place}[]`, schema.items],
    [`${place}.*`, typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined],
  ];
  return [
    ...(types.includes('string') && !isChosen && isOver(schema.maxLength, charsMax(place)) ? [place] : []),
    ...(types.includes('array') && isOver(schema.maxItems, ITEMS_MAX) ? [`${place}[]`] : []),
    ...inner.flatMap(([where, one]) => (one === undefined ? [] : unbounded(one, where))),
  ];
}

it('every text and every list of every request has a maximum length, which is not too high', () => {
  const found = documented.routes.flatMap(({ name, parameters, body }) => [
    ...parameters.flatMap((parameter) => unbounded(parameter.schema, `${name} ?${parameter.name}`)),
    ...(body === undefined ? [] : unbounded(body, `${name} body`)),
  ]);
  expect(found).toEqual([]);
  expect(unbounded({ type: ['string', 'null'] }, 'x')).toEqual(['x']);
  expect(unbounded({ type: 'string', maxLength: 100_000 }, 'x')).toEqual(['x']);
  expect(unbounded({ anyOf: [{ type: 'array', items: { type: 'string', maxLength: 1 } }] }, 'x')).toEqual(['x[]']);
});

const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)]);

it.each([
  ['20,000 values', { metadata: Array.from({ length: 20_001 }, () => 1) }, /more than (20000|8192) values/],
  ['20,000 lists', { metadata: Array.from({ length: 20_001 }, () => []) }, /more than (20000|8192) values/],
  ['100 levels', { metadata: nested(100) }, /more than 100 levels/],
])(
  'a body of more than %s is refused before it is validated, by every route that takes one',
  async (_what, body, text) => {
    const routes = documented.routes.filter((route) => route.body !== undefined);
    expect(routes.length).toBeGreaterThan(15);
    for (const { name, example } of routes) {
      const { status, message } = await documented.send({ ...example, body });
      expect([name, status, message]).toEqual([name, 400, expect.stringMatching(text)]);
    }
  },
);

it('a browser sends fewer values', async () => {
  const body = { domain: 'go.acme.com', key: 'try', more: Array.from({ length: 8_200 }, () => 1) };
  const { status, message } = await documented.send({ route: 'POST /track/click', body });
  expect([status, message]).toEqual([400, expect.stringContaining('more than 8192 values')]);
});

it('a body within the limits is validated: it is refused for its fields only', async () => {
  const metadata = { list: Array.from({ length: 2000 }, () => 1), deep: nested(90) };
  const { status, message } = await documented.send({
    route: 'POST /track/lead',
    body: { clickId: '', eventName: 'Sign up', customerExternalId: 'ada', metadata },
  });
  expect([status, message]).toEqual([400, expect.not.stringMatching(/more than \d+ (?:values|levels)/)]);
});

it('the link port answers 431 to more than 16 kB of headers, and keeps running', async () => {
  const port = await documented.api.listenLinks();
  const statusLine = (bytes: number) =>
    new Promise<string>((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => {
        socket.write(`GET /none HTTP/1.1\r\nhost: go.acme.com\r\nconnection: close\r\nx: ${'y'.repeat(bytes)}\r\n\r\n`);
      });
      let text = '';
      socket.on('data', (chunk) => {
        text += chunk.toString();
      });
      socket.on('end', () => resolve(text)).on('error', reject);
    });
  expect(await statusLine(17_000)).toMatch(/^HTTP\/1.1 431 /);
  expect(await statusLine(15_000)).toMatch(/^HTTP\/1.1 404 /);
});
