import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import {
  type Answer,
  DOMAIN,
  type DocumentedApi,
  type DocumentedRoute,
  type JsonSchema,
  startDocumentedApi,
} from '../../services/standalone/test/contract/documented-api.js';
import { FAULTS } from '../faults/queue/fault-length.js';
import { HOSTILE_TEXTS, textUpTo } from './lib/hostile-texts.js';
import { watchLoop } from './lib/loop-watch.js';
import { plainPng } from './lib/plain-png.js';

// One thread serves everybody: a request that keeps it busy for a tenth of a second stops all others for as long. Whatever a
// request holds, and wherever, it is answered without that, and never by a fault of ours.

const DELAY_MS_MAX = 100;
const TRIES = 5;
const TEXTS_A_PLACE = FAULTS.isLong ? HOSTILE_TEXTS.length : 2;
/** Of a request line with its headers; a longer one is refused before any route sees it. */
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

type Ask = () => Promise<{ readonly status: number }>;

/** The longest that the event loop was held up while that is asked. The services run in this thread. */
async function pauseMs(ask: () => Promise<unknown>): Promise<number> {
  // What the collector has to do of earlier requests is not this one's.
  await new Promise((resolve) => setImmediate(resolve));
  loop.reset();
  await ask();
  return loop.longestMs();
}

/** Texts of this list that are answered too late, or by a fault. */
async function faultsOf(place: string, asks: readonly (readonly [string, Ask])[]): Promise<unknown[]> {
  const failed: unknown[] = [];
  const askAll = () =>
    Promise.all(
      asks.map(async ([text, ask]) => {
        const { status } = await ask();
        if (status >= 500) failed.push({ place, text, status });
      }),
    );
  if ((await pauseMs(askAll)) <= DELAY_MS_MAX) return failed;
  // Together they may come to as much: which of them does so alone, and each time?
  for (const [text, ask] of asks) {
    let shortestMs = Number.POSITIVE_INFINITY;
    for (let tries = 0; tries < TRIES && shortestMs > DELAY_MS_MAX; tries++) {
      shortestMs = Math.min(shortestMs, await pauseMs(ask));
    }
    if (shortestMs > DELAY_MS_MAX) failed.push({ place, text, delayMs: shortestMs });
  }
  return failed;
}

function resolved(schema: JsonSchema = {}): JsonSchema {
  const { $ref } = schema;
  return $ref === undefined ? schema : resolved(documented.schemas[$ref.slice($ref.lastIndexOf('/') + 1)]);
}

/** What a schema takes where it takes the text in some place. */
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

let turn = 0;
/** Each place gets some of the texts, and each text comes to many places: all of them everywhere take a quarter of an hour (`npm run faults`). */
function nextTexts(): readonly string[] {
  const from = turn;
  turn += TEXTS_A_PLACE;
  return Array.from(
    { length: TEXTS_A_PLACE },
    (_none, index) => HOSTILE_TEXTS[(from + index) % HOSTILE_TEXTS.length] ?? '',
  );
}

/** The place's asks: each text as long as the schema lets it be, and one that is longer. */
function asksOf(
  schema: JsonSchema | undefined,
  send: (value: unknown) => Promise<Answer>,
  charsMax = Number.POSITIVE_INFINITY,
): (readonly [string, Ask])[] {
  const asks = nextTexts().flatMap((text) => {
    const shapes = new Set(shapesOf(schema, text).map((shape) => JSON.stringify(shape)));
    return [...shapes].map((shape): readonly [string, Ask] => [
      shape.slice(0, 40),
      () => send(boundedText(JSON.parse(shape), charsMax)),
    ]);
  });
  const [tooLong = ''] = HOSTILE_TEXTS;
  return [...asks, [`too long: ${tooLong.slice(0, 20)}`, () => send(boundedText(tooLong, charsMax))]];
}

function boundedText(value: unknown, charsMax: number): unknown {
  if (typeof value !== 'string') return value;
  const ratio = encodeURIComponent(value).length / value.length;
  return textUpTo(value, Math.floor(charsMax / ratio));
}

/** Ways of putting a text into a request of that route. */
function placesOf({ name: route, example, parameters, body }: DocumentedRoute) {
  const asText = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
  const inUrl = [...parameters, { name: 'unknown', in: 'query' as const, schema: {} }].map(
    ({ name, in: where, schema }) => {
      const field = where === 'path' ? 'params' : 'query';
      const send = (value: unknown) =>
        documented.send({ ...example, [field]: { ...example[field], [name]: asText(value) } });
      return [`${route} ${where} ${name}`, asksOf(schema, send, QUERY_CHARS_MAX)] as const;
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
    return [`${route} body ${name}`, asksOf(fields[name], send)] as const;
  });
  return [...inUrl, ...inBody];
}

it('no route of the document is held up by a long text in any of its places, or fails', async () => {
  const faults: unknown[] = [];
  for (const route of documented.routes) {
    for (const [place, asks] of placesOf(route)) faults.push(...(await faultsOf(place, asks)));
  }
  expect(faults).toEqual([]);
});

/** Longest texts that a code of each level holds, in bytes. */
const QR_BYTES = { L: 2953, M: 2331, Q: 1663, H: 1273 } as const;

/** An ask for a code of so many bytes, each time another: codes that were drawn are kept. */
function drawing(bytes: number, query: Readonly<Record<string, string>>): Ask {
  let asked = 0;
  return () => {
    asked += 1;
    const url = `https://${DOMAIN}/qr?${asked}-`.padEnd(bytes, 'Zy9');
    return documented.send({ route: 'GET /qr', query: { ...query, url } });
  };
}

it('no code is drawn that holds up others: of the longest texts, in every size, with and without a logo', async () => {
  const { api, workspaceId } = documented;
  await api.catalog.links.create(workspaceId, { domain: DOMAIN, key: 'qr', url: 'https://acme.com' });
  const domain = await api.catalog.domains.findBySlug(DOMAIN);
  const logos = [undefined, plainPng(1024, 8), plainPng(512, 16), plainPng(1024, 16)];
  const failed: unknown[] = [];
  for (const logo of logos) {
    const source = logo && `data:image/png;base64,${logo.toString('base64')}`;
    await api.catalog.domains.update(workspaceId, domain?.id ?? '', { logo: source ?? null });
    for (const [level, bytes] of Object.entries(QR_BYTES)) {
      for (const [size, margin] of [
        ['2048', '2'],
        ['600', '0'],
        ['240', '32'],
        ['16', '32'],
      ] as const) {
        const [name, query] = [`${bytes} bytes, ${size} pixels, ${logo?.length ?? 'no'} logo`, { level, size, margin }];
        const { status } = await drawing(bytes, query)();
        expect([name, status]).toEqual([name, 200]);
        failed.push(...(await faultsOf('GET /qr', [[name, drawing(bytes - 1, query)]])));
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

/** A header's value: Latin letters and signs. */
const headerText = (text: string) => text.slice(0, HEADER_CHARS_MAX).replace(/[^\x20-\x7e]/g, '\u00e9');

const visit =
  (url: string, headers: Readonly<Record<string, string>> = {}) =>
  async () => {
    const { statusCode } = await documented.api.callLinks({ url, headers: { host: DOMAIN, ...headers } });
    return { status: statusCode };
  };

it.each(HEADERS)('no visit is held up by a long %s header, or fails', async (name) => {
  const asks = HOSTILE_TEXTS.map((text) => [text.slice(0, 40), visit('/none', { [name]: headerText(text) })] as const);
  expect(await faultsOf(name, asks)).toEqual([]);
});

it.each([
  ['path', (text: string) => `/${text}`],
  ['domain of the path', (text: string) => `//${text}/`],
  ['query', (text: string) => `/none?x=${text}&${text}=1`],
  ['password and destination', (text: string) => `/none?pw=${text}&redir_url=${text}`],
  ['way in', (text: string) => `/none?via=${text}&qr=${text}&dub_id=${text}`],
])('no visit is held up by a long %s, or fails', async (place, url) => {
  const asks = HOSTILE_TEXTS.flatMap((text) =>
    [text, encodeURIComponent(text)].map((one) => {
      const ascii = one.replace(/[^\x21-\x7e]/g, 'x').slice(0, HEADER_CHARS_MAX / 2);
      return [one.slice(0, 40), visit(url(ascii).slice(0, HEADER_CHARS_MAX))] as const;
    }),
  );
  expect(await faultsOf(place, asks)).toEqual([]);
});
