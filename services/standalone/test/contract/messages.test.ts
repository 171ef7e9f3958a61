import { readFileSync } from 'node:fs';
import { type ExampleRequest, RULE_CODES } from '@waymark/contract';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { DOMAIN, type DocumentedApi, startDocumentedApi } from './documented-api.js';
import { type FieldFault, faultsOf, withBodyFault } from './field-faults.js';

// Every error message has the form `<code>: <field>: <rule>`, and describes the rule in words.

let documented: DocumentedApi;
beforeAll(async () => {
  documented = await startDocumentedApi();
});
afterAll(() => documented.close());

/** Phrases of the validation library, which messages must not contain. */
const RAW = /nonoptional|undefined|received|expected|Invalid|custom:|Too (?:big|small)|pattern/;

interface Case {
  readonly name: string;
  readonly place: string;
  readonly fault: FieldFault;
  readonly request: ExampleRequest;
}

function casesOfQuery({ name, parameters, example }: DocumentedApi['routes'][number]): Case[] {
  return parameters
    .filter((one) => one.in === 'query')
    .flatMap((parameter) =>
      faultsOf(parameter.schema, documented.schemas, { isRequired: parameter.required === true, isText: true })
        .filter(({ path }) => path.length === 0)
        .map((fault) => {
          const { [parameter.name]: _valid, ...others } = example.query ?? {};
          const query = fault.value === undefined ? others : { ...others, [parameter.name]: String(fault.value) };
          return { name, place: parameter.name, fault, request: { ...example, query } };
        }),
    );
}

function casesOfBody({ name, body, example }: DocumentedApi['routes'][number]): Case[] {
  if (body === undefined) return [];
  return faultsOf(body, documented.schemas, { isRequired: false, isText: false }).map((fault) => ({
    name,
    place: fault.place,
    fault,
    request: { ...example, body: withBodyFault(body, documented.schemas, example.body, fault) },
  }));
}

it('an error for any field of any request names the field and the rule, with one code for each rule', async () => {
  const codeOfRule = new Map<string, string>();
  const kinds = new Map<string, number>();
  const wrong: unknown[] = [];
  for (const route of documented.routes) {
    for (const { name, place, fault, request } of [...casesOfQuery(route), ...casesOfBody(route)]) {
      const { status, message } = await documented.send(request);
      const [code = '', field, ...rest] = message.split(': ');
      const rule = rest.join(': ');
      const known = codeOfRule.get(rule) ?? code;
      codeOfRule.set(rule, known);
      kinds.set(fault.kind, (kinds.get(fault.kind) ?? 0) + 1);
      const isRight =
        fault.codes.includes(code) &&
        field === place &&
        rule !== '' &&
        !RAW.test(message) &&
        known === code &&
        status === (code === 'required' || code === 'invalid_type' ? 400 : 422);
      if (!isRight) wrong.push([name, fault.kind, place, status, message]);
    }
  }
  expect(wrong).toEqual([]);
  // Enough faults of each kind were found.
  for (const kind of [
    'missing',
    'null',
    'wrong type',
    'too long',
    'too many',
    'not listed',
    'too great',
    'too small',
  ]) {
    expect([kind, (kinds.get(kind) ?? 0) >= 5]).toEqual([kind, true]);
  }
}, 240_000);

it('the documentation page of errors explains every rule', () => {
  const page = readFileSync(new URL('../../../../docs/reference/errors.md', import.meta.url), 'utf8');
  const explained = [...page.matchAll(/^\| `(\w+)` \| 4\d\d \|.*`\1: /gm)].map(([, code]) => code);
  expect(explained).toEqual([...RULE_CODES]);
});

const url = 'https://acme.com';
const webhook = { name: 'Orders', url, triggers: ['sale.created'] };

it.each<[string, ExampleRequest['route'], Partial<ExampleRequest>, number, string]>([
  ['no slug', 'POST /domains', { body: {} }, 400, 'required: slug: is required'],
  ['no body', 'POST /tags', {}, 400, 'required: body: is required'],
  [
    'a slug',
    'POST /domains',
    { body: { slug: 'no domain' } },
    422,
    'invalid_format: slug: must be a domain name, such as go.example.com',
  ],
  [
    'a URL of a domain',
    'POST /domains',
    { body: { slug: 'x.acme.com', expiredUrl: 'http://' } },
    422,
    'invalid_format: expiredUrl: must be a URL with a valid host and port',
  ],
  [
    'a username',
    'POST /partners',
    { body: { email: 'a@acme.com', username: 'a b' } },
    422,
    'invalid_format: username: must have no other characters than letters, digits, emoji, "-", "_", "." and "/"',
  ],
  ...['/', '//', '///', '_root', '/_ROOT/'].map(
    (username): [string, ExampleRequest['route'], Partial<ExampleRequest>, number, string] => [
      `the username ${username}`,
      'POST /partners',
      { body: { email: 'a@acme.com', username } },
      422,
      'invalid_format: username: must be neither "_root" nor slashes alone',
    ],
  ),
  [
    'a reserved username',
    'POST /partners',
    { body: { email: 'a@acme.com', username: 'robots.txt' } },
    403,
    'The username "robots.txt" is reserved.',
  ],
  [
    'a country',
    'POST /partners',
    { body: { email: 'a@acme.com', country: 'USA' } },
    422,
    'invalid_format: country: must be two letters',
  ],
  [
    'a key',
    'POST /links',
    { body: { url, key: 'a b' } },
    422,
    'invalid_format: key: must have no other characters than letters, digits, emoji, "-", "_", "." and "/"',
  ],
  [
    'a key with a meaning',
    'POST /links',
    { body: { url, key: '_x' } },
    422,
    'invalid_format: key: must not begin with "_" or ".well-known", end with ".php" or ".php7", or have "." or ".." as a part of its path',
  ],
  ['a destination', 'POST /links', { body: { url: 'no url' } }, 422, 'invalid_format: url: must be a URL'],
  [
    'the port of a destination',
    'POST /links',
    { body: { url: 'http://acme.com:99999' } },
    422,
    'invalid_format: url: must be a URL with a valid host and port',
  ],
  ['no destination', 'POST /links', { body: { url: ' ' } }, 400, 'required: url: is required'],
  [
    'a date',
    'POST /links',
    { body: { url, expiresAt: 'sometime' } },
    422,
    'invalid_format: expiresAt: must be a date such as 2026-03-04, 2026-03-04T12:30:00Z, yesterday, 7 days ago, last month, jan 5 or Q1 2026',
  ],
  [
    'a country of a link',
    'POST /links',
    { body: { url, geo: { de: url } } },
    422,
    'invalid_format: geo.de: its name must be two upper-case letters',
  ],
  ['a tag', 'POST /links', { body: { url, tagNames: ['none'] } }, 422, 'invalid_value: tagNames: unknown tags: none'],
  [
    'a link of a webhook',
    'POST /webhooks',
    { body: { ...webhook, triggers: ['link.clicked'], linkScope: 'links', linkIds: ['link_1'] } },
    400,
    'invalid_value: linkIds: unknown links: link_1',
  ],
  [
    'a scope',
    'POST /webhooks',
    { body: { ...webhook, linkScope: 'workspace' } },
    422,
    'invalid_combination: linkScope: can be used together with the trigger link.clicked only',
  ],
  [
    'nothing to open',
    'POST /track/open',
    { body: {} },
    422,
    'invalid_combination: deepLink: deepLink or dubDomain must be given',
  ],
  [
    'metadata',
    'POST /track/lead',
    { body: { eventName: 'x', customerExternalId: 'x', metadata: { x: 'x'.repeat(10_001) } } },
    422,
    'too_big: metadata: must have at most 10000 characters as JSON',
  ],
  [
    'metadata with many values under a long path',
    'POST /track/lead',
    { body: { eventName: 'x', customerExternalId: 'x', metadata: { ['.'.repeat(4_900)]: Array(2_500).fill(1) } } },
    422,
    'too_big: metadata: must have at most 200000 bytes when each value is written with its whole path: shorten the names, or send fewer values',
  ],
  [
    'no click',
    'POST /track/lead',
    { body: { eventName: 'x', customerExternalId: 'nobody' } },
    400,
    'required: clickId: is required: the customer is not known, or has no click',
  ],
  ['no link', 'GET /links/info', { query: {} }, 400, 'required: linkId: linkId, externalId or domain must be given'],
  ['no partner', 'GET /partners/links', { query: {} }, 400, 'required: partnerId: partnerId or tenantId must be given'],
  [
    'no partner to analyse',
    'GET /partners/analytics',
    { query: {} },
    400,
    'required: partnerId: partnerId or tenantId must be given',
  ],
  [
    'a page of links',
    'GET /links',
    { query: { page: '1001' } },
    422,
    'too_big: page: must be at most 1000; use a cursor to go further',
  ],
  [
    'a page of customers',
    'GET /customers',
    { query: { page: '1001' } },
    422,
    'too_big: page: must be at most 1000; use a cursor to go further',
  ],
  [
    'a cursor of links',
    'GET /links',
    { query: { startingAfter: 'x' } },
    422,
    'invalid_value: startingAfter: must be the id of a link',
  ],
  [
    'a cursor of customers',
    'GET /customers',
    { query: { startingAfter: 'x' } },
    422,
    'invalid_value: startingAfter: must be the id of a customer',
  ],
  [
    'two cursors of links',
    'GET /links',
    { query: { startingAfter: 'x', endingBefore: 'y' } },
    422,
    'invalid_combination: endingBefore: cannot be used together with startingAfter',
  ],
  [
    'two cursors of customers',
    'GET /customers',
    { query: { startingAfter: 'x', endingBefore: 'y' } },
    422,
    'invalid_combination: endingBefore: cannot be used together with startingAfter',
  ],
  [
    'a cursor of events',
    'GET /events',
    { query: { cursor: 'x' } },
    422,
    'invalid_value: cursor: must be the cursor of a page of the same list: only limit may differ',
  ],
  [
    'a key without its domain',
    'GET /events',
    { query: { key: 'x' } },
    400,
    'invalid_combination: key: must be used together with domain',
  ],
  [
    'a receiver with another form of bodies',
    'POST /webhooks',
    { body: { ...webhook, url: 'https://hooks.slack.com/services/T0/B0/x' } },
    422,
    'invalid_format: url: must be a server that accepts events as they are sent: Slack and Segment do not, so send to one that translates them',
  ],
  [
    'a page to read',
    'GET /links/metatags',
    { query: { url: 'mailto:a@acme.com' } },
    422,
    'invalid_format: url: must be an http or https URL',
  ],
])('%s: %s', async (_what, route, request, status, message) => {
  const answer = await documented.send({ route, ...request });
  expect([answer.status, answer.message]).toEqual([status, message]);
});

const NUL = 'must not contain a NUL character';

it.each<[ExampleRequest['route'], object, string]>([
  ['POST /tags', { name: 'a\0b' }, `invalid_format: name: ${NUL}`],
  ['POST /folders', { name: 'a\0b' }, `invalid_format: name: ${NUL}`],
  ['POST /links', { url, externalId: 'a\0b' }, `invalid_format: externalId: ${NUL}`],
  ['POST /partners', { email: 'nul@acme.com', tenantId: 'a\0b' }, `invalid_format: tenantId: ${NUL}`],
])('%s reports a NUL character', async (route, body, message) => {
  const answer = await documented.send({ route, body });
  expect([answer.status, answer.message]).toEqual([422, message]);
});

it.each<[ExampleRequest['route'], object, object, string]>([
  ['POST /tags', { name: 'NameX' }, { name: 'NAMEx' }, 'A tag "NAMEx" exists already.'],
  ['POST /folders', { name: 'NameX' }, { name: 'NAMEx' }, 'A folder "NAMEx" exists already.'],
  ['POST /utm', { name: 'NameX' }, { name: 'NAMEx' }, 'A UTM template "NAMEx" exists already.'],
  [
    'POST /links',
    { url, key: 'Taken' },
    { url, key: '/TAKEN/' },
    `Duplicate key: the link ${DOMAIN}/TAKEN already exists.`,
  ],
  ['POST /links', { url }, { url, key: '/' }, `Duplicate key: the link ${DOMAIN}/_root already exists.`],
  [
    'PUT /links/upsert',
    { url },
    { url: `${url}/fresh`, key: '/' },
    `Duplicate key: the link ${DOMAIN}/_root already exists.`,
  ],
])('%s reports a taken name as it was sent: %j, then %j', async (route, first, second, message) => {
  await documented.send({ route, body: first });
  const answer = await documented.send({ route, body: second });
  expect([answer.status, answer.message]).toEqual([409, message]);
});

it.each([
  ['', 'unrecognized_keys: "": is not a parameter of this request'],
  ['continent', 'invalid_value: continent: must be one of "AF", "AN", "AS", "EU", "NA", "OC", "SA"'],
  ['trigger', 'invalid_value: trigger: must be one of "qr", "link", "pageview", "deeplink"'],
])('GET /events?%s=x: %s', async (name, message) => {
  const answer = await documented.send({ route: 'GET /events', query: { [name]: 'x' } });
  expect([answer.status, answer.message]).toEqual([422, message]);
});

it.each([
  ['GET /analytics', 'trigger', 'invalid_value: trigger: must be one of '],
  ['GET /links', 'sortBy', 'invalid_value: sortBy: must be one of '],
] as const)('%s?%s=x quotes what is allowed', async (route, name, beginning) => {
  const { message } = await documented.send({ route, query: { [name]: 'x' } });
  expect(message.slice(0, beginning.length)).toBe(beginning);
  expect(message.slice(message.search(/one of/))).toMatch(/^one of "\w+"(?:, "\w+")*$/);
});
