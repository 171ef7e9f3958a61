import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DocumentedApi, type JsonSchema, startDocumentedApi } from './documented-api.js';

// The fields of requests and answers: their descriptions, their bounds, and their names in errors.

let documented: DocumentedApi;
beforeAll(async () => {
  documented = await startDocumentedApi();
});
afterAll(() => documented.close());

/** `/docs` and `/openapi.json` are all that many callers read. A field without a description is documented by its name alone. */
describe('descriptions', () => {
  type Described = JsonSchema & { readonly description?: string };
  interface Content {
    readonly content?: Readonly<Record<string, { readonly schema?: JsonSchema }>>;
  }
  interface Operation {
    readonly parameters?: readonly {
      readonly name: string;
      readonly description?: string;
      readonly schema: Described;
    }[];
    readonly requestBody?: Content;
    readonly responses: Readonly<Record<string, Content>>;
  }
  interface Document {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
    readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
  }

  let document: Document;
  beforeAll(async () => {
    document = (await (await fetch(`${documented.api.url}/openapi.json`)).json()) as Document;
  });

  /** Paths of the fields without a description. References lead to schemas whose fields are tested by themselves. */
  function undescribed(schema: JsonSchema | undefined, path: string): string[] {
    if (schema === undefined) return [];
    const fields = Object.entries(schema.properties ?? {}) as [string, Described][];
    const isMissing = ({ description = '', $ref }: Described) => description.trim() === '' && $ref === undefined;
    return [
      ...fields.filter(([, field]) => isMissing(field)).map(([name]) => `${path}.${name}`),
      ...fields.flatMap(([name, field]) => undescribed(field, `${path}.${name}`)),
      ...[...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])].flatMap((one) =>
        undescribed(one, path),
      ),
      ...undescribed(schema.items, `${path}[]`),
      ...(typeof schema.additionalProperties === 'object' ? undescribed(schema.additionalProperties, `${path}.*`) : []),
    ];
  }

  function operations(): [string, Operation][] {
    return Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]): [string, Operation] => [`${method} ${path}`, operation]),
    );
  }

  const contents = (part: Content | undefined) => Object.values(part?.content ?? {});

  it('the document has the routes and the objects', () => {
    expect(operations().map(([route]) => route)).toContain('get /events');
    expect(Object.keys(document.components.schemas)).toContain('Link');
  });

  it('every parameter has a description', () => {
    const missing = operations().flatMap(([route, { parameters = [] }]) =>
      parameters
        .filter(({ description, schema }) => (description ?? schema.description ?? '').trim() === '')
        .map(({ name }) => `${route} ${name}`),
    );
    expect(missing).toEqual([]);
  });

  it('every field of a body, of an answer and of a named object has a description', () => {
    const missing = [
      ...operations().flatMap(([route, { requestBody, responses }]) => [
        ...contents(requestBody).flatMap(({ schema }) => undescribed(schema, route)),
        ...Object.entries(responses).flatMap(([status, response]) =>
          contents(response).flatMap(({ schema }) => undescribed(schema, `${route} ${status}`)),
        ),
      ]),
      ...Object.entries(document.components.schemas).flatMap(([name, schema]) => undescribed(schema, name)),
    ];
    expect([...new Set(missing)]).toEqual([]);
  });
});

/**
 * The size of a request is limited before it is processed: every text and list has a maximum length, and a body has a maximum number of
 * values.
 */
describe('bounds', () => {
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
      ...[...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])].map(
        (one) => [place, one] as const,
      ),
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
          socket.write(
            `GET /none HTTP/1.1\r\nhost: go.acme.com\r\nconnection: close\r\nx: ${'y'.repeat(bytes)}\r\n\r\n`,
          );
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
});

/**
 * Errors name a field by its path in the request body. This includes errors of rules that run after the schema, which receive a link without
 * the rest of the body.
 */
describe('names in errors', () => {
  let linkId: string;

  async function created(body: object): Promise<string> {
    const { text } = await documented.send({ route: 'POST /links', body });
    return (JSON.parse(text) as { id: string }).id;
  }

  beforeAll(async () => {
    linkId = await created({ url: 'https://acme.com', externalId: 'taken' });
  });

  /** Invalid fields of a link, and their names in the errors of `POST /links`. */
  const FAULTS: readonly (readonly [object, string])[] = [
    [{ expiresAt: 'sometime' }, 'expiresAt'],
    [{ expiredUrl: 'http://' }, 'expiredUrl'],
    [{ ios: 'http://' }, 'ios'],
    [{ image: 'https://localhost/a.png' }, 'image'],
    [{ tagIds: ['tag_none'] }, 'tagIds'],
    [{ tagNames: ['none'] }, 'tagNames'],
    [{ password: '********' }, 'password'],
    [{ testVariants: [variant(20), variant(30)], trackConversion: true }, 'testVariants'],
    [{ testVariants: [variant(50), variant(50, 'http://')], trackConversion: true }, 'testVariants[1].url'],
    // Rejected by the schema.
    [{ title: 1 }, 'title'],
    [{ testVariants: [variant(50), variant(5)], trackConversion: true }, 'testVariants[1].percentage'],
  ];
  const FAULTS_OF_PREFIX: readonly (readonly [object, string])[] = [
    [{ prefix: '_x' }, 'prefix'],
    [{ prefix: 'a b' }, 'prefix'],
    [{ prefix: 'x'.repeat(190) }, 'prefix'],
  ];
  const CREATED = [...FAULTS, ...FAULTS_OF_PREFIX];

  function variant(percentage: number, url = 'https://acme.com/b') {
    return { url, percentage };
  }

  type Sent = Parameters<DocumentedApi['send']>[0];

  async function fieldOf(request: Sent): Promise<string> {
    const { status, message } = await documented.send(request);
    const [code, field] = message.split(': ');
    expect([status, message]).toEqual([status === 400 ? 400 : 422, expect.stringMatching(/^\w+: .+: /)]);
    return `${code === undefined ? '' : field}`;
  }

  let emails = 0;
  const email = () => `ada${emails++}@acme.com`;

  describe.each(CREATED)('%o', (fault, field) => {
    it('is reported under its own name', async () => {
      expect(await fieldOf({ route: 'POST /links', body: { url: 'https://acme.com', ...fault } })).toBe(field);
    });

    it('is reported under its path in linkProps, on every route that creates partner links', async () => {
      const { trackConversion: _always, ...linkProps } = fault as { trackConversion?: boolean };
      const place = `linkProps.${field}`;
      const enrolled = await documented.send({ route: 'POST /partners', body: { email: email(), name: 'Ada' } });
      const { partnerId } = JSON.parse(enrolled.text) as { partnerId: string };
      const owned = { partnerId, url: 'https://acme.com/p', linkProps };
      const requests: Sent[] = [
        { route: 'POST /partners', body: { email: email(), linkProps } },
        { route: 'POST /partners', body: { email: email(), name: 'Ada', linkProps } },
        { route: 'POST /partners', body: { email: email(), username: `u${emails}`, linkProps } },
        { route: 'POST /partners/links', body: owned },
        { route: 'PUT /partners/links/upsert', body: owned },
      ];
      for (const request of requests) expect([request.route, await fieldOf(request)]).toEqual([request.route, place]);
    });
  });

  describe.each(FAULTS)('%o of a bulk update', (data, field) => {
    it('is reported under its path in data', async () => {
      expect(await fieldOf({ route: 'PATCH /links/bulk', body: { linkIds: [linkId], data } })).toBe(`data.${field}`);
    });
  });

  it('a fault in the list of a bulk request is reported with its index in the list', async () => {
    const [one, two] = [{ url: 'https://acme.com', key: 'same' }, { url: 'https://acme.com' }];
    const bulk = (body: unknown) => fieldOf({ route: 'POST /links/bulk', body });
    expect(await bulk([one, two, one])).toBe('[2].key');
    expect(await bulk([two, { ...one, title: 1 }])).toBe('[1].title');
    expect(await fieldOf({ route: 'PATCH /links/bulk', body: { linkIds: [linkId, 5], data: {} } })).toBe('linkIds[1]');
  });

  it('a fault in a field of a partner request outside of linkProps is reported without a prefix', async () => {
    const { text } = await documented.send({ route: 'POST /partners', body: { email: email() } });
    const { partnerId } = JSON.parse(text) as { partnerId: string };
    const linkProps = { title: 'A title' };
    for (const route of ['POST /partners/links', 'PUT /partners/links/upsert'] as const) {
      const body = { partnerId, url: 'https://acme.com/q', linkProps };
      expect(await fieldOf({ route, body: { ...body, key: '_x' } })).toBe('key');
      expect(await fieldOf({ route, body: { ...body, url: 'http://' } })).toBe('url');
    }
    const named = { email: email(), username: 'a b', linkProps: { prefix: 'c' } };
    expect(await fieldOf({ route: 'POST /partners', body: named })).toBe('username');
  });
});
