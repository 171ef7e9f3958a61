import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DocumentedApi, startDocumentedApi } from './documented-api.js';

// Errors name a field by its path in the request body. This includes errors of rules that run after the schema, which receive a link
// without the rest of the body.

let documented: DocumentedApi;
let linkId: string;

async function created(body: object): Promise<string> {
  const { text } = await documented.send({ route: 'POST /links', body });
  return (JSON.parse(text) as { id: string }).id;
}

beforeAll(async () => {
  documented = await startDocumentedApi();
  linkId = await created({ url: 'https://acme.com', externalId: 'taken' });
});
afterAll(() => documented.close());

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
