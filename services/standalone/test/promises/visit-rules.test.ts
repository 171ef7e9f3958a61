import type { LinkRecord, NewLink } from '@waymark/catalog';
import { createResourceId, parseResourceId } from '@waymark/contract';
import { waitFor } from '@waymark/test-kit';
import type { InjectOptions } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startWholeApi, type WholeApi } from '../contract/whole-api.js';

// The rules of a visit apply to every route to a link's destination or data: each route is tested with a link in each state. A refused
// request reveals nothing of the destination, and records no click.

const SECRET = 'nobody-may-see-this';
const target = (path: string) => `https://${SECRET}.example/${path}`;
const IPHONE =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1';
const UNFURLER = 'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)';
const PAST = new Date(Date.now() - 1000).toISOString();
const FUTURE = new Date(Date.now() + 3_600_000).toISOString();

let api: WholeApi;
let key: string;
let workspaceId: string;
let programId: string;
let strangersKey: string;

interface Answer {
  readonly status: number;
  /** Headers and body. */
  readonly text: string;
}

/** A request for a link's destination, or for data about it. */
interface Way {
  readonly name: string;
  readonly fields?: Partial<NewLink>;
  readonly request: (link: LinkRecord) => Promise<Answer>;
  /** The status for an open link, and whether the response contains the destination. */
  readonly open: { readonly status: number; readonly isShown: boolean };
  /** Visits get the response for the state of the link; other requests get this status. */
  readonly refused: 'as a visit' | number;
  /** Runs while the link is still open. */
  readonly before?: (link: LinkRecord) => Promise<void>;
}

async function callLinks(request: InjectOptions): Promise<Answer> {
  const { statusCode, headers, body } = await api.callLinks(request);
  return { status: statusCode, text: JSON.stringify(headers) + body };
}

function visitOf(
  name: string,
  fields: Partial<NewLink> = {},
  { query = '', headers = {}, method = 'GET' as 'GET' | 'HEAD', status = 302 } = {},
): Way {
  return {
    name,
    fields,
    request: (link) => callLinks({ method, url: `/${link.key}${query}`, headers: { host: link.domain, ...headers } }),
    open: { status, isShown: true },
    refused: 'as a visit',
  };
}

function report(what: 'click' | 'visit' | 'open', bodyOf: (link: LinkRecord) => object): Way {
  return {
    name: `POST /track/${what}`,
    request: (link) => callLinks({ method: 'POST', url: `/track/${what}`, payload: bodyOf(link) }),
    open: { status: 200, isShown: what === 'open' },
    refused: 404,
  };
}

async function callApi(path: string, headers: Record<string, string>): Promise<Answer> {
  const answer = await fetch(api.url + path, { headers });
  return { status: answer.status, text: await answer.text() };
}

let strangers = 0;

/** Uses a new address for each call, so that no limit is reached. */
function callAsStranger(path: string): Promise<Answer> {
  strangers += 1;
  return callApi(path, { 'x-forwarded-for': `198.51.100.${strangers}` });
}

/** A read by another workspace, which finds the link in no state. */
function strangerReads(name: string, pathOf: (link: LinkRecord) => string, status = 404): Way {
  return {
    name: `${name} of another workspace`,
    request: (link) => callApi(pathOf(link), { authorization: `Bearer ${strangersKey}` }),
    open: { status, isShown: false },
    refused: status,
  };
}

const at = (country: string) => ({ 'cf-ipcountry': country });
const variants = [50, 50].map((percentage, index) => ({ url: target(`variant-${index}`), percentage }));
const appStore = { ios: `https://apps.apple.com/${SECRET}` };
const addresses = new Map<string, string>();

const WAYS: readonly Way[] = [
  visitOf('a visit'),
  visitOf('a visit by HEAD', {}, { method: 'HEAD' }),
  visitOf('a scanned QR code', {}, { query: '?qr=1' }),
  visitOf('a visit that is not tracked', {}, { query: '?dub-no-track=1' }),
  visitOf('a visit with redir_url', {}, { query: `?redir_url=${encodeURIComponent(target('other'))}` }),
  visitOf('a bot', {}, { headers: { 'user-agent': UNFURLER } }),
  visitOf('a link preview', { proxy: true, title: SECRET }, { headers: { 'user-agent': UNFURLER }, status: 200 }),
  {
    name: 'the stored image of a link preview',
    fields: { proxy: true, image: `data:image/png;base64,${Buffer.from(SECRET).toString('base64')}` },
    request: ({ domain, key }) => callLinks({ url: `/_image/${key}`, headers: { host: domain } }),
    open: { status: 200, isShown: true },
    refused: 404,
  },
  visitOf('a cloaked link', { rewrite: true, title: SECRET }, { status: 200 }),
  visitOf('a mail address', { url: `mailto:${SECRET}@acme.com` }, { status: 200 }),
  visitOf('a target for iOS', { url: 'https://acme.com', ...appStore }, { headers: { 'user-agent': IPHONE } }),
  visitOf('a target for a country', { url: 'https://acme.com', geo: { US: target('us') } }, { headers: at('US') }),
  visitOf('a variant of a test', { url: 'https://acme.com', testVariants: variants, testCompletedAt: FUTURE }),
  visitOf('a link that search engines may index', { doIndex: true }),
  {
    name: 'the form of a password',
    request: (link) =>
      callLinks({
        method: 'POST',
        url: `/${link.key}`,
        headers: { host: link.domain, 'content-type': 'application/x-www-form-urlencoded' },
        payload: 'password=wrong',
      }),
    // Redirects to the link itself.
    open: { status: 303, isShown: false },
    refused: 'as a visit',
  },
  report('click', ({ domain, key }) => ({ domain, key })),
  report('visit', ({ domain, key }) => ({ domain, url: `https://${domain}/${key}` })),
  report('open', ({ domain, key }) => ({ deepLink: `https://${domain}/${key}?a=1` })),
  {
    name: 'the first start of an app that a click led to',
    fields: appStore,
    async before({ id, domain, key }) {
      const address = `198.51.100.${addresses.size}`;
      addresses.set(id, address);
      const headers = { host: domain, 'user-agent': IPHONE, 'x-forwarded-for': address };
      await api.callLinks({ url: `/${key}`, headers });
    },
    async request({ id, domain }) {
      const headers = { 'x-forwarded-for': addresses.get(id) ?? '' };
      const { status, text } = await callLinks({
        method: 'POST',
        url: '/track/open',
        headers,
        payload: { dubDomain: domain },
      });
      return { status: text.includes('{"clickId":null,"link":null}') ? 404 : status, text };
    },
    open: { status: 200, isShown: true },
    refused: 404,
  },
  strangerReads('GET /links/info by address', ({ domain, key }) => `/links/info?domain=${domain}&key=${key}`),
  strangerReads('GET /links/info by id', ({ id }) => `/links/info?linkId=${id}`),
  strangerReads('GET /links/{id}', ({ id }) => `/links/${id}`),
  strangerReads('GET /events', ({ id }) => `/events?linkId=${id}`, 200),
  {
    name: 'GET /qr',
    request: ({ domain, key }) => callAsStranger(`/qr?url=https://${domain}/${key}`),
    // The QR code contains the requested URL in every state.
    open: { status: 200, isShown: false },
    refused: 200,
  },
];

/** A state of a link in which visits are refused. */
interface State {
  readonly name: string;
  readonly domain?: { readonly expiredUrl?: string; readonly notFoundUrl?: string };
  readonly fields?: () => Promise<Partial<NewLink>>;
  readonly apply: (links: readonly LinkRecord[], domain: string) => Promise<unknown>;
  /** The response to a visit. */
  readonly visit: { readonly status: number; readonly text?: string };
}

function change(fields: Partial<LinkRecord>) {
  return (links: readonly LinkRecord[]) =>
    api.catalog.links.updateMany(
      workspaceId,
      links.map(({ id }) => id),
      (link) => ({ ...link, ...fields }),
    );
}

async function call<T>(method: string, path: string, body: object): Promise<T> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const answer = await fetch(api.url + path, { method, headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}

const EXPIRED = 'https://elsewhere.example/expired';
const NOT_FOUND = 'https://elsewhere.example/not-found';

const STATES: readonly State[] = [
  {
    name: 'locked',
    apply: (links) =>
      Promise.all(
        links.map(({ id }) =>
          api.catalog.links.update(workspaceId, id, (link) => ({
            ...link,
            encryptedPassword: api.catalog.links.sealPassword('sesame', id),
          })),
        ),
      ),
    visit: { status: 401 },
  },
  { name: 'disabled', apply: (links) => change({ disabledAt: PAST })(links), visit: { status: 404 } },
  { name: 'expired', apply: (links) => change({ expiresAt: PAST })(links), visit: { status: 410 } },
  {
    name: 'expired, with an address of its own for that',
    apply: (links) => change({ expiresAt: PAST, expiredUrl: EXPIRED })(links),
    visit: { status: 302, text: EXPIRED },
  },
  {
    name: 'expired, with an address of its domain for that',
    domain: { expiredUrl: EXPIRED },
    apply: (links) => change({ expiresAt: PAST })(links),
    visit: { status: 302, text: EXPIRED },
  },
  {
    name: 'on an archived domain',
    apply: (_links, domain) => call('PATCH', `/domains/${domain}`, { archived: true }),
    visit: { status: 404 },
  },
  {
    name: 'on an archived domain with an address for what is not found',
    domain: { notFoundUrl: NOT_FOUND },
    apply: (_links, domain) => call('PATCH', `/domains/${domain}`, { archived: true }),
    visit: { status: 302, text: NOT_FOUND },
  },
  {
    name: 'removed',
    apply: (links) =>
      api.catalog.links.removeMany(
        workspaceId,
        links.map(({ id }) => id),
      ),
    visit: { status: 404 },
  },
  {
    name: 'of a banned partner',
    async fields() {
      const { id } = await call<{ id: string }>('POST', '/partners', { name: 'Ada', email: 'ada@example.com' });
      return { programId, partnerId: id };
    },
    apply: ([link]) => call('POST', '/partners/ban', { partnerId: link?.partnerId, reason: 'spam' }),
    visit: { status: 404 },
  },
];

let domains = 0;

async function aDomain(state: State, owner: string): Promise<string> {
  domains += 1;
  const slug = `go${domains}.acme.example`;
  await api.catalog.domains.create(owner, { slug, ...state.domain });
  return slug;
}

/** Creates a link for each way, all on a new domain. */
async function linksOf(state: State, owner = workspaceId) {
  const domain = await aDomain(state, owner);
  const fields = await state.fields?.();
  const made = await Promise.all(
    WAYS.map(async (way, index) => ({
      way,
      link: await api.catalog.links.create(owner, {
        domain,
        key: `way-${index}`,
        url: target('page'),
        ...fields,
        ...way.fields,
      }),
    })),
  );
  return { domain, made };
}

const clicksOf = async (link: LinkRecord) => {
  const result = await api.database.client.query({
    query: 'SELECT count() AS clicks FROM click_events WHERE link_id = {id:UInt64}',
    query_params: { id: parseResourceId('link', link.id) },
    format: 'JSONEachRow',
  });
  const [row] = await result.json<{ clicks: string }>();
  return Number(row?.clicks);
};

/** Waits until every click so far is stored: records one more, and waits for it. */
async function untilWritten(): Promise<void> {
  const { made } = await linksOf({ name: 'last', apply: async () => undefined, visit: { status: 302 } });
  const last = made[0]?.link as LinkRecord;
  await api.visit(last.domain, last.key);
  await waitFor(async () => (await clicksOf(last)) === 1, { what: 'the last click' });
}

async function isRefused({ name, refused, request }: Way, link: LinkRecord, state: State): Promise<void> {
  const answer = await request(link);
  const isVisit = refused === 'as a visit';
  expect([name, answer.status]).toEqual([name, isVisit ? state.visit.status : refused]);
  expect([name, answer.text]).toEqual([name, expect.not.stringContaining(SECRET)]);
  if (isVisit && state.visit.text !== undefined) expect(answer.text).toContain(state.visit.text);
  // No click was recorded, and no click id is passed on.
  expect([name, answer.text]).toEqual([name, expect.not.stringContaining('dub_id')]);
}

beforeAll(async () => {
  api = await startWholeApi({ trustedProxies: ['127.0.0.1/32'] });
  const [acme, other] = await Promise.all(
    ['acme', 'other'].map((slug) => api.catalog.workspaces.create({ name: slug, slug, plan: 'enterprise' })),
  );
  if (acme === undefined || other === undefined) throw new Error('no workspaces');
  key = acme.apiKey.token;
  workspaceId = acme.workspace.id;
  programId = acme.workspace.defaultProgramId ?? '';
  strangersKey = other.apiKey.token;
  await api.catalog.workspaces.update(other.workspace.id, { analyticsPerSecond: 10_000 });
  await api.catalog.domains.create(workspaceId, { slug: 'program.acme.example' });
  api.startWriter();
});
afterAll(() => api.close());

describe('the rules of a visit', () => {
  it('allow every request for an open link', async () => {
    const { made } = await linksOf({ name: 'open', apply: async () => undefined, visit: { status: 302 } });
    for (const { way, link } of made) {
      await way.before?.(link);
      const answer = await waitFor(
        async () => {
          const found = await way.request(link);
          return found.status === way.open.status && found;
        },
        { what: `${way.name} of an open link` },
      );
      expect([way.name, answer.text.includes(SECRET)]).toEqual([way.name, way.open.isShown]);
    }
  });

  it.each(STATES)('refuse every request for a link that is $name', async (state) => {
    const { domain, made } = await linksOf(state);
    for (const { way, link } of made) await way.before?.(link);
    const clicksBefore = made.map(({ way }) => (way.before === undefined ? 0 : 1));
    await state.apply(
      made.map(({ link }) => link),
      domain,
    );
    for (const { way, link } of made) await isRefused(way, link, state);
    await untilWritten();
    expect(await Promise.all(made.map(({ link }) => clicksOf(link)))).toEqual(clicksBefore);
  });

  it('refuse every request for a link of a deleted workspace', async () => {
    const state: State = { name: 'gone', apply: async () => undefined, visit: { status: 404 } };
    const { made } = await linksOf(state, createResourceId('workspace', Date.now()));
    for (const { way, link } of made) await way.before?.(link);
    for (const { way, link } of made) await isRefused(way, link, state);
    await untilWritten();
    expect(await Promise.all(made.map(({ link }) => clicksOf(link)))).toEqual(made.map(() => 0));
  });

  it('allow an app that was opened with the correct password of the link only', async () => {
    const [locked] = STATES;
    const { made } = await linksOf(locked as State);
    const link = made[0]?.link as LinkRecord;
    await locked?.apply([link], link.domain);
    const open = (query: string) =>
      callLinks({
        method: 'POST',
        url: '/track/open',
        payload: { deepLink: `https://${link.domain}/${link.key}${query}` },
      });
    expect((await open('?pw=barley')).status).toBe(404);
    const opened = await open('?pw=sesame');
    expect(opened.status).toBe(200);
    expect(opened.text).toContain(SECRET);
  });

  it('allow visits again when the domain is restored from the archive', async () => {
    const { domain, made } = await linksOf({ name: 'back', apply: async () => undefined, visit: { status: 302 } });
    const link = made[0]?.link as LinkRecord;
    for (const [archived, status] of [
      [true, 404],
      [false, 302],
    ] as const) {
      await call('PATCH', `/domains/${domain}`, { archived });
      expect(await api.visit(domain, link.key)).toBe(status);
    }
  });
});
