import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { EXAMPLE_REQUESTS, type ExampleAnswer, type ExampleRequest, exampleAnswer } from '@waymark/contract';
import { type S3Server, startS3Server, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { bodyOf } from './documented-api.js';
import { ExampleNames } from './example-names.js';
import { BROWSER, startWholeApi, type WholeApi } from './whole-api.js';

/**
 * Checks the examples of the OpenAPI document: each request is sent to real stores, and its response must equal the recorded one after
 * ids and times are replaced by those of the examples. `npx vitest run <this file> --update` records the responses again.
 */

const ANSWERS_FILE = '../../../../packages/contract/src/examples/answers.ts';

interface Content {
  readonly schema: unknown;
  readonly example?: unknown;
}
interface Operation {
  readonly security?: unknown;
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Content>> }>>;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: object };
}

let api: WholeApi;
let keys: { readonly secret: string; readonly publishable: string };
let document: Document;
let storage: S3Server;
let page: { readonly url: string; close(): void };
let kutt: { readonly url: string; close(): void };
const names = new ExampleNames();
const answers: Record<string, ExampleAnswer> = {};

beforeAll(async () => {
  api = await startWholeApi();
  const { workspace, apiKey, publishableKey } = await api.catalog.workspaces.create({
    ...{ name: 'Acme', slug: 'acme', plan: 'enterprise', domain: 'go.acme.com', programUrl: 'https://acme.com' },
  });
  keys = { secret: apiKey.token, publishable: publishableKey.token };
  for (const name of ['Welcome', 'Unknown']) {
    const email = `${name.toLowerCase()}@example.com`;
    await api.catalog.partners.create(workspace.id, { name, email, status: 'pending' });
  }
  api.startWriter();
  [page, storage, kutt] = await Promise.all([startPage(), startS3Server(), startKutt()]);
  // The export may be made after midnight.
  for (const dayMs of [0, 86_400_000]) {
    const [day = ''] = new Date(Date.now() + dayMs).toISOString().split('T');
    names.is(`sales-${day}.csv`, 'sales-2026-03-04.csv');
  }
  names.is(storage.url, 'https://storage.example.com');
  names.is('S3RVER', 'AKIAEXAMPLE');
  names.is('"accessKeyHint":"…"', '"accessKeyHint":"…MPLE"');
  names.is(kutt.url, 'https://kutt.example');
  names.is(page.url, 'https://shop.example/spring-sale');
  document = (await (await fetch(`${api.url}/openapi.json`)).json()) as Document;
});
afterAll(async () => {
  page.close();
  kutt.close();
  await api.close();
  await storage.stop();
});

/** A page on another site. */
async function startPage(): Promise<typeof page> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
    response.end(`<!doctype html><title>Spring sale</title><meta name="description" content="Boots and more, until May">
<meta property="og:image" content="https://shop.example/boots.png">`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/spring-sale`, close: () => server.close() };
}

/** A Kutt server with three links. */
async function startKutt(): Promise<typeof kutt> {
  const links = [
    {
      address: 'spring',
      target: 'https://acme.com/spring',
      domain: 'kutt.example',
      created_at: '2020-01-02T03:04:05Z',
    },
    { address: 'members', target: 'https://acme.com/members', domain: 'kutt.example', password: true },
    { address: 'broken', target: 'no address', domain: 'kutt.example' },
  ];
  const server = createServer((request, response) => {
    const isFirst = request.url?.endsWith('skip=0') === true;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ data: isFirst ? links : [] }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() };
}

const hasEach = (words: readonly string[]) => (text: string) => words.every((word) => text.includes(word));
const HAS_EVENTS = hasEach(['"clicks":1', '"leads":1', '"sales":1']);
/** Routes that show recent events, with a check whether the response contains all of them. */
const SETTLED: Readonly<Record<string, (text: string) => boolean>> = {
  // Waits for the customer's counters as well as the link's, because two views compute them.
  'GET /events': hasEach(['"clicks":1', '"leads":1', '"country":"US","sales":1,"saleAmount":4900']),
  'GET /exports': hasEach(['"status":"completed"']),
  'GET /imports': hasEach(['"status":"completed"']),
  'GET /analytics': HAS_EVENTS,
  'GET /customers': hasEach(['"sales":1']),
  'GET /customers/{id}': hasEach(['"sales":1']),
  'GET /customers/{id}/data': hasEach(['"eventName":"', '"sale":{']),
};

function operationOf(route: string): Operation | undefined {
  const [method = '', path = ''] = route.split(' ');
  return document.paths[path]?.[method.toLowerCase()];
}

async function send({ route, params = {}, query = {}, body }: ExampleRequest): Promise<Response> {
  const [method = '', path = ''] = route.split(' ');
  const target = path.replace(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(params[name] ?? ''));
  const key = route.endsWith('/client') ? keys.publishable : keys.secret;
  return fetch(`${api.url}${target}?${new URLSearchParams(query)}`, {
    method,
    headers: {
      'user-agent': BROWSER,
      'x-forwarded-for': '203.0.113.7',
      'cf-ipcountry': 'US',
      'cf-region-code': 'TX',
      'cf-ipcity': 'Austin',
      'cf-ipcontinent': 'NA',
      authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

/** Converts the documented schema of a response to a zod schema. */
function schemaOf(content: Content): z.ZodType {
  const text = JSON.stringify({ ...(content.schema as object), $defs: document.components.schemas });
  return z.fromJSONSchema(JSON.parse(text.replaceAll('#/components/schemas/', '#/$defs/')));
}

it('every route has an example', () => {
  const routes = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(EXAMPLE_REQUESTS.map(({ route }) => route).sort()).toEqual(routes.sort());
});

it.each(EXAMPLE_REQUESTS)('$route has the documented response', async (request) => {
  const { route } = request;
  const isSettled = SETTLED[route] ?? (() => true);
  const { status, type, sniff, cache, text } = await waitFor(
    async () => {
      const response = await send(names.toActual(request));
      const answer = {
        status: response.status,
        type: response.headers.get('content-type'),
        sniff: response.headers.get('x-content-type-options'),
        cache: response.headers.get('cache-control'),
        text: await bodyOf(response),
      };
      return isSettled(answer.text) ? answer : undefined;
    },
    { what: 'an answer with what was recorded' },
  );
  expect([200, 201, 202], text).toContain(status);
  // QR codes are public, so they may be cached; a stream must not be changed on its way either.
  const isStored = type === 'image/png' || type?.startsWith('text/event-stream') === true;
  expect([sniff, cache === 'no-store']).toEqual(['nosniff', !isStored]);
  if (type?.startsWith('application/json') !== true) {
    answers[route] = { status };
    return;
  }
  const content = operationOf(route)?.responses[status]?.content?.['application/json'];
  if (content === undefined) throw new Error(`${route} documents no answer ${status}`);
  schemaOf(content).parse(JSON.parse(text));
  answers[route] = { status, body: names.toExample(JSON.parse(text)) };
  expect(content.example).toEqual(exampleAnswer(route)?.body);
});

it('the recorded responses equal those of this run', async () => {
  const lines = Object.entries(answers).map(([route, answer]) => `  '${route}': ${JSON.stringify(answer)},`);
  const text = `import type { ExampleAnswer } from './example-request.js';

/** Generated by services/standalone/test/contract/examples.test.ts, which explains how to update it. */
// biome-ignore format: one line per route
export const EXAMPLE_ANSWERS: Readonly<Record<string, ExampleAnswer>> = {
${lines.join('\n')}
};
`;
  await expect(text).toMatchFileSnapshot(ANSWERS_FILE);
});
