import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import {
  type Answer,
  DOMAIN,
  type DocumentedApi,
  type DocumentedRoute,
  type JsonSchema,
  startDocumentedApi,
} from '../../services/standalone/test/contract/documented-api.js';
import { FAULTS } from '../faults/fault-length.js';
import { HOSTILE_TEXTS, textUpTo } from './lib/hostile-texts.js';
import { watchLoop } from './lib/loop-watch.js';
import { plainPng } from './lib/plain-png.js';

// A request that blocks the main thread for a tenth of a second delays all others for as long. Whatever a
// request contains, and wherever, it must be answered without such a pause, and never with a 500.

const DELAY_MS_MAX = 100;
const TRIES = 5;
const TEXTS_A_PLACE = FAULTS.isLong ? HOSTILE_TEXTS.length : 1;
/** Longest request line with headers; longer ones are rejected before any route. */
const QUERY_CHARS_MAX = 60_000;
const HEADER_CHARS_MAX = 14_000;
vi.setConfig({ testTimeout: FAULTS.isLong ? 3_600_000 : 300_000 });

let documented: DocumentedApi;
const loop = watchLoop();

beforeAll(async () => {
  documented = await startDocumentedApi();
});
afterAll(async () => {
  loop.stop();
  await documented.close();
});

type SendRequest = () => Promise<{ readonly status: number }>;

/** The longest pause of the event loop during a request. The services run in this thread. */
async function pauseMs(send: () => Promise<unknown>): Promise<number> {
  // Garbage of earlier requests must not count for this one.
  await new Promise((resolve) => setImmediate(resolve));
  loop.reset();
  await send();
  return loop.longestMs();
}

/** The texts that cause a long pause, or an answer with a status of which `isFault` is true: by default any 500. */
async function faultsOf(
  place: string,
  requests: readonly (readonly [string, SendRequest])[],
  isFault = (status: number) => status >= 500,
): Promise<unknown[]> {
  const failed: unknown[] = [];
  // One after another: the pauses of requests that are sent together are in one thread, and would count as one.
  for (const [text, send] of requests) {
    let fault: number | undefined;
    const sendOnce = async () => {
      const { status } = await send();
      if (isFault(status)) fault = status;
    };
    let shortestMs = Number.POSITIVE_INFINITY;
    for (let tries = 0; tries < TRIES && shortestMs > DELAY_MS_MAX && fault === undefined; tries++) {
      shortestMs = Math.min(shortestMs, await pauseMs(sendOnce));
    }
    if (fault !== undefined) failed.push({ place, text, status: fault });
    else if (shortestMs > DELAY_MS_MAX) failed.push({ place, text, delayMs: shortestMs });
  }
  return failed;
}

function resolved(schema: JsonSchema = {}): JsonSchema {
  const { $ref } = schema;
  return $ref === undefined ? schema : resolved(documented.schemas[$ref.slice($ref.lastIndexOf('/') + 1)]);
}

/** Values that match a schema and contain the text somewhere. */
function shapesOf(schema: JsonSchema | undefined, text: string, levels = 3): unknown[] {
  const { type, anyOf, oneOf, allOf, items, properties, additionalProperties, maxLength } = resolved(schema);
  if (levels === 0) return [];
  const inner = (one: JsonSchema | undefined) => shapesOf(one, text, levels - 1);
  const alternatives = [...(anyOf ?? []), ...(oneOf ?? []), ...(allOf ?? [])].flatMap((one) =>
    shapesOf(one, text, levels),
  );
  const named = Object.entries(properties ?? {}).map(([name, one]) => [name, inner(one)[0]] as const);
  const isMap = typeof additionalProperties === 'object';
  return [
    ...alternatives,
    ...([type].flat().includes('string') ? [textUpTo(text, maxLength)] : []),
    ...(items === undefined ? [] : inner(items).map((one) => [one])),
    ...(named.length === 0 ? [] : [Object.fromEntries(named)]),
    ...(isMap ? [{ US: inner(additionalProperties)[0] ?? text, [textUpTo(text, 1_000)]: 'x' }] : []),
  ];
}

/** Random, so that later runs use other texts in a place. */
let turn = Math.floor(Math.random() * HOSTILE_TEXTS.length);
/** Each place gets some of the texts, and each text is used in many places: all texts in all places take a quarter of an hour (`npm run faults`). */
function nextTexts(): readonly string[] {
  const from = turn;
  turn += TEXTS_A_PLACE;
  return Array.from(
    { length: TEXTS_A_PLACE },
    (_none, index) => HOSTILE_TEXTS[(from + index) % HOSTILE_TEXTS.length] ?? '',
  );
}

/** The requests for a place: each text with the maximum length of the schema, and one that is longer. */
function requestsOf(
  schema: JsonSchema | undefined,
  send: (value: unknown) => Promise<Answer>,
  charsMax = Number.POSITIVE_INFINITY,
): (readonly [string, SendRequest])[] {
  const requests = nextTexts().flatMap((text) => {
    const shapes = new Set(shapesOf(schema, text).map((shape) => JSON.stringify(shape)));
    return [...shapes].map((shape): readonly [string, SendRequest] => [
      shape.slice(0, 40),
      () => send(boundedText(JSON.parse(shape), charsMax)),
    ]);
  });
  const [tooLong = ''] = HOSTILE_TEXTS;
  return [...requests, [`too long: ${tooLong.slice(0, 20)}`, () => send(boundedText(tooLong, charsMax))]];
}

function boundedText(value: unknown, charsMax: number): unknown {
  if (typeof value !== 'string') return value;
  const ratio = encodeURIComponent(value).length / value.length;
  return textUpTo(value, Math.floor(charsMax / ratio));
}

/** The places of a route's request that can contain a text. */
function placesOf({ name: route, example, parameters, body }: DocumentedRoute) {
  const asText = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
  const inUrl = [...parameters, { name: 'unknown', in: 'query' as const, schema: {} }].map(
    ({ name, in: where, schema }) => {
      const field = where === 'path' ? 'params' : 'query';
      const send = (value: unknown) =>
        documented.send({ ...example, [field]: { ...example[field], [name]: asText(value) } });
      return [`${route} ${where} ${name}`, requestsOf(schema, send, QUERY_CHARS_MAX)] as const;
    },
  );
  const { properties, items } = resolved(body);
  const sample = Array.isArray(example.body) ? example.body[0] : example.body;
  const fields = properties ?? resolved(items).properties ?? {};
  const inBody = [...new Set([...Object.keys(fields), ...Object.keys(sample ?? {})])].map((name) => {
    const send = (value: unknown) => {
      const filled = { ...(sample as object | undefined), [name]: value };
      return documented.send({ ...example, body: Array.isArray(example.body) ? [filled] : filled });
    };
    return [`${route} body ${name}`, requestsOf(fields[name], send)] as const;
  });
  return [...inUrl, ...inBody];
}

it('no documented route blocks or fails for a long text in any place', async () => {
  const faults: unknown[] = [];
  for (const route of documented.routes) {
    for (const [place, requests] of placesOf(route)) faults.push(...(await faultsOf(place, requests)));
  }
  expect(faults).toEqual([]);
});

/** Longest text of a code for each level, in bytes. */
const QR_BYTES = { L: 2953, M: 2331, Q: 1663, H: 1273 } as const;

/** A request for a code of so many bytes; each is different, because drawn codes are cached. */
function drawing(bytes: number, query: Readonly<Record<string, string>>): SendRequest {
  let count = 0;
  return () => {
    count += 1;
    const url = `https://${DOMAIN}/qr?${count}-`.padEnd(bytes, 'Zy9');
    return documented.send({ route: 'GET /qr', query: { ...query, url } });
  };
}

it('drawing a code never blocks: for the longest texts, in every size, with and without a logo', async () => {
  const { api, workspaceId } = documented;
  await api.catalog.links.create(workspaceId, { domain: DOMAIN, key: 'qr', url: 'https://acme.com' });
  const domain = await api.catalog.domains.findBySlug(DOMAIN);
  const logos = [undefined, plainPng(1024, 8), plainPng(512, 16), plainPng(1024, 16)];
  const sizes = [
    ['2048', '2'],
    ['600', '0'],
    ['240', '32'],
    ['16', '32'],
  ] as const;
  const failed: unknown[] = [];
  for (const [logoIndex, logo] of logos.entries()) {
    const source = logo && `data:image/png;base64,${logo.toString('base64')}`;
    await api.catalog.domains.update(workspaceId, domain?.id ?? '', { logo: source ?? null });
    for (const [levelIndex, [level, bytes]] of Object.entries(QR_BYTES).entries()) {
      for (const [sizeIndex, [size, margin]] of sizes.entries()) {
        // The short form has every pair of a logo, a level and a size once, the long one every three of them.
        if (!FAULTS.isLong && (logoIndex + levelIndex) % sizes.length !== sizeIndex) continue;
        const [name, query] = [`${bytes} bytes, ${size} pixels, ${logo?.length ?? 'no'} logo`, { level, size, margin }];
        failed.push(...(await faultsOf('GET /qr', [[name, drawing(bytes, query)]], (status) => status !== 200)));
      }
    }
  }
  expect(failed).toEqual([]);
});

const HEADERS = [
  'user-agent',
  'referer',
  'origin',
  'cookie',
  'authorization',
  'accept-language',
  'x-forwarded-for',
  'x-forwarded-host',
  'cf-ipcountry',
  'host',
];

/** A valid header value: Latin-1 characters only. */
const headerText = (text: string) => text.slice(0, HEADER_CHARS_MAX).replace(/[^\x20-\x7e]/g, '\u00e9');

const visit =
  (url: string, headers: Readonly<Record<string, string>> = {}) =>
  async () => {
    const { statusCode } = await documented.api.callLinks({ url, headers: { host: DOMAIN, ...headers } });
    return { status: statusCode };
  };

it.each(HEADERS)('no visit blocks or fails for a long %s header', async (name) => {
  const requests = HOSTILE_TEXTS.map(
    (text) => [text.slice(0, 40), visit('/none', { [name]: headerText(text) })] as const,
  );
  expect(await faultsOf(name, requests)).toEqual([]);
});

it.each([
  ['path', (text: string) => `/${text}`],
  ['domain of the path', (text: string) => `//${text}/`],
  ['query', (text: string) => `/none?x=${text}&${text}=1`],
  ['password and destination', (text: string) => `/none?pw=${text}&redir_url=${text}`],
  ['parameter that describes the visit', (text: string) => `/none?via=${text}&qr=${text}&dub_id=${text}`],
])('no visit blocks or fails for a long %s', async (place, url) => {
  const requests = HOSTILE_TEXTS.flatMap((text) =>
    [text, encodeURIComponent(text)].map((one) => {
      const ascii = one.replace(/[^\x21-\x7e]/g, 'x').slice(0, HEADER_CHARS_MAX / 2);
      return [one.slice(0, 40), visit(url(ascii).slice(0, HEADER_CHARS_MAX))] as const;
    }),
  );
  expect(await faultsOf(place, requests)).toEqual([]);
});
