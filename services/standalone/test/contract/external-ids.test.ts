import { rounds, waitFor } from '@waymark/test-kit';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BROWSER, startWholeApi, type WholeApi } from './whole-api.js';

// External ids are chosen by the caller: bodies contain them unchanged, paths and selectors with the prefix `ext_`.

let api: WholeApi;
let key: string;
let clickId: string;

async function send<Body>(method: string, path: string, body?: object): Promise<{ status: number; body: Body }> {
  const response = await fetch(`${api.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
  return { status: response.status, body: (isJson ? await response.json() : await response.text()) as Body };
}

/**
 * The paths of GET routes with that query parameter and a JSON answer. The stream is left out, because it does not end; its filters are
 * compared in `stream/agreement.test.ts`.
 */
async function routesWith(parameter: string): Promise<string[]> {
  const { body } = await send<{ paths: Record<string, { get?: { parameters?: { name: string; in: string }[] } }> }>(
    'GET',
    '/openapi.json',
  );
  return Object.entries(body.paths)
    .filter(([path]) => path !== '/events/stream')
    .filter(([, { get }]) => get?.parameters?.some((given) => given.in === 'query' && given.name === parameter))
    .map(([path]) => path);
}

interface Named {
  readonly id: string;
  readonly externalId: string;
}

/** External ids that are unique in this run, many with prefixes, spaces, or characters that have a meaning in URLs. */
let runs = 0;
const anExternalId = fc
  .tuple(
    fc.constantFrom('', 'ext_', 'ext_ext_', ' ', 'link_', 'cus_', '%2F', '../'),
    fc.string({ unit: 'grapheme', maxLength: 30 }).filter((text) => !text.includes('\0')),
    fc.constantFrom('', ' ', '/', '?', '&x=1', '+', ','),
  )
  .map(([before, middle, after]) => `${before}${middle}#${runs++}${after}`)
  .filter((text) => text.length <= 100);

const inPath = (externalId: string) => encodeURIComponent(`ext_${externalId}`);
const idOf = ({ body }: { body: Named }) => [body.id, body.externalId];

beforeAll(async () => {
  api = await startWholeApi();
  const { apiKey, workspace } = await api.catalog.workspaces.create({
    ...{ name: 'Acme', slug: 'acme', plan: 'enterprise', domain: 'go.acme.com' },
  });
  await api.catalog.workspaces.update(workspace.id, { requestsPerMinute: 100_000, analyticsPerSecond: 10_000 });
  key = apiKey.token;
  api.startWriter();
  await send('POST', '/links', { domain: 'go.acme.com', key: 'try', url: 'https://acme.com' });
  const clicked = await fetch(`${api.url}/track/click`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'user-agent': BROWSER },
    body: JSON.stringify({ domain: 'go.acme.com', key: 'try' }),
  });
  clickId = ((await clicked.json()) as { clickId: string }).clickId;
});
afterAll(() => api.close());

describe('any external id', () => {
  it('of a link is stored unchanged, and selects the link with the prefix ext_, in paths and in queries', async () => {
    const property = fc.asyncProperty(anExternalId, async (externalId) => {
      const made = await send<Named>('POST', '/links', { url: 'https://acme.com', externalId });
      expect([made.status, made.body.externalId]).toEqual([200, externalId]);
      const query = `externalId=${inPath(externalId)}`;
      for (const path of [`/links/${inPath(externalId)}`, `/links/info?${query}`]) {
        expect(idOf(await send<Named>('GET', path))).toEqual(idOf(made));
      }
      expect((await send('GET', `/events?${query}`)).status).toBe(200);
      const data = { comments: 'found' };
      const bulk = await send<Named[]>('PATCH', '/links/bulk', { externalIds: [externalId], data });
      expect(bulk.body.map(({ id }) => id)).toEqual([made.body.id]);
      const upserted = await send<Named>('PATCH', `/links/${made.body.id}`, { externalId });
      expect(idOf(upserted)).toEqual(idOf(made));
    });
    await fc.assert(property, { numRuns: rounds(25, 8) });
  }, 120_000);

  it('is the same customer in POST /customers and in events', async () => {
    const property = fc.asyncProperty(anExternalId, fc.boolean(), async (externalId, isLeadFirst) => {
      const create = () => send<Named>('POST', '/customers', { externalId, country: 'FR' });
      const lead = () =>
        send<{ customer: Named }>('POST', '/track/lead', {
          ...{ clickId, eventName: 'Sign up', customerExternalId: externalId, mode: 'wait' },
        });
      if (isLeadFirst) {
        const { status, body } = await lead();
        expect([status, body.customer.externalId]).toEqual([200, externalId]);
        expect((await create()).status).toBe(409);
      } else {
        const { status, body } = await create();
        expect([status, body.externalId]).toEqual([201, externalId]);
        expect((await lead()).body.customer.externalId).toBe(externalId);
      }
      const found = await send<Named>('GET', `/customers/${inPath(externalId)}`);
      expect([found.status, found.body.externalId]).toEqual([200, externalId]);
      const list = () => send<Named[]>('GET', `/customers?externalId=${encodeURIComponent(externalId)}`);
      const listed = await waitFor(async () => (await list()).body[0] && list(), { what: 'the customer of an event' });
      expect(listed.body.map(({ id }) => id)).toEqual([found.body.id]);
    });
    await fc.assert(property, { numRuns: rounds(25, 8) });
  }, 120_000);
});

describe('an external id without its prefix', () => {
  /** Their `externalId` is that of a customer, which the SDK sends without a prefix. */
  const BARE: ReadonlySet<string> = new Set(['/customers', '/customers/export']);

  it('is refused by every parameter `externalId` with the same error, whether or not such a link exists', async () => {
    await send('POST', '/links', { url: 'https://acme.com', externalId: 'there' });
    const routes = (await routesWith('externalId')).filter((path) => !BARE.has(path));
    expect(routes.sort()).toEqual([...['/analytics', '/analytics/export', '/events', '/events/export', '/links/info']]);
    for (const path of routes) {
      for (const id of ['there', 'nowhere', ' ext_there', 'EXT_there']) {
        const { status, body } = await send<object>('GET', `${path}?externalId=${encodeURIComponent(id)}`);
        expect([path, id, status, body]).toEqual([
          ...[path, id, 400],
          { error: expect.objectContaining({ message: 'invalid_format: externalId: must begin with "ext_"' }) },
        ]);
      }
      expect((await send('GET', `${path}?externalId=ext_there`)).status).toBe(200);
      expect((await send('GET', `${path}?externalId=ext_nowhere`)).status).toBe(404);
    }
  });

  it('finds nothing in a path or in linkId', async () => {
    await send('POST', '/links', { url: 'https://acme.com', externalId: 'in-path' });
    await send('POST', '/customers', { externalId: 'in-path', country: 'FR' });
    for (const path of ['/links/in-path', '/customers/in-path', '/links/info?linkId=in-path']) {
      expect([path, (await send('GET', path)).status]).toEqual([path, 404]);
      expect([path, (await send('GET', path.replace('in-path', 'ext_in-path'))).status]).toEqual([path, 200]);
    }
    expect((await send<Named[]>('GET', '/customers?externalId=in-path')).body).toHaveLength(1);
    expect((await send<Named[]>('GET', '/customers?externalId=ext_in-path')).body).toEqual([]);
  });
});

describe('a link selected by our id and by the caller’s', () => {
  /** Parameters that select links, and the routes that have them. */
  const SELECTORS: Readonly<Record<string, readonly string[]>> = {
    linkId: [
      ...[
        '/analytics',
        '/analytics/export',
        '/customers',
        '/customers/export',
        '/events',
        '/events/export',
        '/links/info',
      ],
    ],
    linkIds: ['/links', '/links/count', '/links/export'],
  };
  /** Answers 404 for an unknown link, because it returns a single one. */
  const ONE = '/links/info';
  let link: Named;

  beforeAll(async () => {
    const click = { domain: 'go.acme.com', key: 'selected' };
    const made = await send<Named>('POST', '/links', { ...click, url: 'https://acme.com', externalId: 'selected' });
    link = made.body;
    await send('POST', '/links', { domain: 'go.acme.com', key: 'other', url: 'https://acme.com' });
    const clicked = await fetch(`${api.url}/track/click`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': BROWSER },
      body: JSON.stringify(click),
    });
    const { clickId: ofLink } = (await clicked.json()) as { clickId: string };
    const lead = { clickId: ofLink, eventName: 'Sign up', customerExternalId: 'by-selected', mode: 'wait' };
    expect((await send('POST', '/track/lead', lead)).status).toBe(200);
    const events = () => send<object[]>('GET', `/events?event=leads&linkId=${link.id}`);
    await waitFor(async () => (await events()).body.length === 1, { what: 'the lead of a link' });
  });

  it.each(Object.entries(SELECTORS))('%s has the same rules on every route', async (parameter, routes) => {
    expect((await routesWith(parameter)).sort()).toEqual(routes);
    for (const path of routes) {
      const byId = await send<object>('GET', `${path}?${parameter}=${link.id}`);
      expect([path, byId.status]).toEqual([path, 200]);
      expect([path, byId.body]).not.toEqual([path, []]);
      expect([path, await send('GET', `${path}?${parameter}=ext_selected`)]).toEqual([path, byId]);
      const nowhere = await send('GET', `${path}?${parameter}=ext_nowhere`);
      expect([path, nowhere.status]).toEqual([path, path === ONE ? 404 : 200]);
      for (const unknown of ['link_nowhere', 'link_00000000000', 'selected', 'EXT_selected', 'lnk_1', '\0', ' ']) {
        const answer = await send('GET', `${path}?${parameter}=${encodeURIComponent(unknown)}`);
        expect([path, unknown, answer]).toEqual([path, unknown, nowhere]);
      }
    }
  });

  it('finds the customers of that link, and none for an unknown link', async () => {
    const ids = async (linkId: string) =>
      (await send<Named[]>('GET', `/customers?linkId=${linkId}`)).body.map(({ externalId }) => externalId);
    expect(await ids('ext_selected')).toEqual(['by-selected']);
    expect(await ids('ext_nowhere')).toEqual([]);
  });

  it('can be attached to a webhook by either id', async () => {
    const hook = { name: 'Clicks', url: 'https://hooks.acme.com', triggers: ['link.clicked'], linkScope: 'links' };
    const webhook = await send<Named>('POST', '/webhooks', { ...hook, linkIds: ['ext_selected', link.id] });
    expect(webhook.status).toBe(201);
    const webhookIds = async () => (await send<{ webhookIds: string[] }>('GET', '/links/ext_selected')).body.webhookIds;
    expect(await webhookIds()).toEqual([webhook.body.id]);
    expect((await send('PATCH', `/webhooks/${webhook.body.id}`, { linkIds: [] })).status).toBe(200);
    expect(await webhookIds()).toEqual([]);
    await send('PATCH', `/webhooks/${webhook.body.id}`, { linkIds: ['ext_selected'] });
    expect(await webhookIds()).toEqual([webhook.body.id]);
    const { status, body } = await send('POST', '/webhooks', {
      ...{ ...hook, url: 'https://hooks.acme.com/2', linkIds: ['ext_selected', 'ext_nowhere', 'selected'] },
    });
    const message = 'invalid_value: linkIds: unknown links: ext_nowhere, selected';
    expect([status, body]).toEqual([400, { error: expect.objectContaining({ message }) }]);
  });
});
