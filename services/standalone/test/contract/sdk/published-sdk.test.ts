import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  analyticsRowSchemas,
  createEventId,
  listDomainsQuerySchema,
  listLinksQuerySchema,
  parseResourceId,
} from '@waymark/contract';
import { aClick, insertClicks, waitFor } from '@waymark/test-kit';
import { Dub } from 'dub';
import { type Fetcher, HTTPClient } from 'dub/lib/http.js';
import { ResponseValidationError, UnprocessableEntity } from 'dub/models/errors';
import {
  type GetCustomersRequest,
  ListPartnersQueryParamSortBy,
  ListPartnersQueryParamStatus,
} from 'dub/models/operations';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type DocumentedApi, type JsonSchema, startDocumentedApi } from '../documented-api.js';
import { methodsOf } from './method-names.js';
import { valuesOf } from './schema-values.js';
import { CALLS, NOT_CALLED } from './sdk-calls.js';

// The published SDK parses every response, and throws for one that its types do not allow. In the first part it gets responses that are made
// of the documented schemas, so also those of states that no other test brings about. In the second it calls the running API.

type Grouping = keyof typeof analyticsRowSchemas;

const RUNS = 40;
/** Groupings of `analytics.retrieve` for which the SDK has no type (docs/reference/analytics.md). */
const UNTYPED: readonly Grouping[] = [
  ...(['utm_sources', 'utm_mediums', 'utm_campaigns', 'utm_terms', 'utm_contents'] as const),
  ...(['top_domains', 'top_folders', 'top_link_tags', 'top_partners', 'top_groups', 'top_partner_tags'] as const),
];

let documented: DocumentedApi;
/** Calls the running API with a key of an owner. */
let dub: Dub;
beforeAll(async () => {
  documented = await startDocumentedApi();
  const { api, workspaceId } = documented;
  api.startWriter();
  const key = await api.catalog.keys.create({ workspaceId, name: 'sdk', kind: 'secret', role: 'owner', scopes: [] });
  dub = new Dub({ token: key.token, serverURL: api.url });
});
afterAll(() => documented.close());

/** A client that gets the value as the response to every request, with the documented status of the route that it calls. */
function clientWith(valueFor: (schema: JsonSchema) => unknown): Dub {
  const fetcher: Fetcher = async (input) => {
    const { method, url } = input as Request;
    const { pathname } = new URL(url);
    const name = `${method} ${pathname}`;
    const route =
      documented.routes.find((one) => one.name === name) ??
      documented.routes.find((one) => new RegExp(`^${one.name.replace(/\{\w+\}/g, '[^/]+')}$`).test(name));
    const { success } = route ?? {};
    if (success === undefined) throw new Error(`${name} documents no response in JSON`);
    return Response.json(valueFor(success.schema), { status: success.status });
  };
  return new Dub({ token: 'dub_1', serverURL: 'https://api.example.com', httpClient: new HTTPClient({ fetcher }) });
}

type Call = (dub: Dub) => Promise<unknown>;

/**
 * Calls the method again and again with other values of the documented schema.
 *
 * @param choose selects a part of the schema
 * @param isWhole whether the result must have all of the response
 */
async function checkParses(call: Call, choose = (schema: JsonSchema) => schema, isWhole = false): Promise<void> {
  let value: unknown;
  let schema: JsonSchema | undefined;
  const client = clientWith((found) => {
    schema = choose(found);
    return value;
  });
  // The first call finds the schema; its value does not matter.
  await call(client).catch(() => undefined);
  if (schema === undefined) throw new Error('the method has sent no request');
  await fc.assert(
    fc.asyncProperty(valuesOf(schema, documented.schemas), async (one) => {
      value = one;
      const parsed = await call(client);
      if (isWhole) expect(parsed).toEqual(JSON.parse(JSON.stringify(one)));
    }),
    { numRuns: RUNS },
  );
}

/** The response of `GET /analytics` for a grouping. */
function groupSchema(grouping: Grouping): JsonSchema {
  const row = analyticsRowSchemas[grouping];
  const { $schema: _, ...schema } = z.toJSONSchema(grouping === 'count' ? row : z.array(row));
  return schema as JsonSchema;
}

it('every method of the SDK is called, or named as an exception', () => {
  const names = methodsOf(new Dub());
  expect([...Object.keys(CALLS), ...NOT_CALLED].sort()).toEqual(names.sort());
});

const plain = Object.keys(CALLS).filter((name) => name !== 'analytics.retrieve' && name !== 'links.count');
it.each(plain)('%s parses every documented response', async (name) => {
  await checkParses(CALLS[name] as Call);
});

it('links.count parses every number; for groups it has no type', async () => {
  const { anyOf = [] } = documented.routes.find(({ name }) => name === 'GET /links/count')?.success?.schema ?? {};
  const [number, groups] = anyOf;
  if (number === undefined || groups === undefined) throw new Error('the response is a number or groups');
  await checkParses(
    (client) => client.links.count(),
    () => number,
  );
  const [value] = fc.sample(valuesOf({ ...groups, minItems: 1 }, documented.schemas), 1);
  const count = clientWith(() => value).links.count({ groupBy: 'domain' } as never);
  await expect(count).rejects.toBeInstanceOf(ResponseValidationError);
});

const typed = (Object.keys(analyticsRowSchemas) as Grouping[]).filter((name) => !UNTYPED.includes(name));
it.each(typed)('analytics.retrieve grouped by %s keeps every field', async (groupBy) => {
  await checkParses(
    (client) => client.analytics.retrieve({ groupBy }),
    () => groupSchema(groupBy),
    true,
  );
});

it.each(UNTYPED)('analytics.retrieve throws for rows grouped by %s', async (groupBy) => {
  const schema = { ...groupSchema(groupBy), minItems: 1 };
  const [value] = fc.sample(valuesOf(schema, documented.schemas), 1);
  await expect(clientWith(() => value).analytics.retrieve({ groupBy })).rejects.toBeInstanceOf(ResponseValidationError);
});

it('the pages of links and domains are as long as the SDK expects when it sends no size', () => {
  for (const [file, schema] of [
    ['linksList', listLinksQuerySchema],
    ['domainsList', listDomainsQuerySchema],
  ] as const) {
    const text = readFileSync(fileURLToPath(import.meta.resolve(`dub/funcs/${file}.js`)), 'utf8');
    const expected = /pageSize \?\? (\d+)/.exec(text)?.[1];
    expect([file, schema.parse({}).pageSize]).toEqual([file, Number(expected)]);
  }
});

describe('customers', () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
  let ids: string[];
  beforeAll(async () => {
    const { customers } = documented.api.catalog;
    const created: string[] = [];
    for (const name of names) {
      created.push((await customers.create(documented.workspaceId, { externalId: name, country: 'FR' })).id);
    }
    ids = created;
  });

  /** The pages of a list; `between` runs after the first one. */
  async function pagesOf(request: GetCustomersRequest, between = async () => {}): Promise<string[][]> {
    const pages: string[][] = [];
    for await (const { result } of await dub.customers.list({ country: 'FR', ...request })) {
      pages.push(result.map(({ id }) => id));
      if (pages.length === 1) await between();
    }
    return pages;
  }

  it('are listed page by page, each one once, in both directions', async () => {
    const pages = await pagesOf({ pageSize: 3 });
    expect(pages.map(({ length }) => length).filter(Boolean)).toEqual([3, 3, 1]);
    expect(pages.flat()).toEqual(ids.toReversed());
    expect((await pagesOf({ pageSize: 2, page: 1, sortOrder: 'asc' })).flat()).toEqual(ids);
  });

  it('are listed to the end although the last one of a page is removed before the next page is read', async () => {
    const [, , third = '', ...others] = ids;
    const pages = await pagesOf(
      { pageSize: 3, sortOrder: 'asc' },
      async () => void (await dub.customers.delete(third)),
    );
    expect(pages.flat().slice(3)).toEqual(others);
  });

  it('sorted by another field have one page: the second one throws', async () => {
    const list = async () => pagesOf({ pageSize: 3, sortBy: 'saleAmount' });
    await expect(list()).rejects.toBeInstanceOf(UnprocessableEntity);
  });
});

it('a request that is refused for its rate succeeds when the SDK repeats it after the seconds of `Retry-After`', async () => {
  const { api } = documented;
  const created = await api.catalog.workspaces.create({ name: 'Slow', slug: 'slow', plan: 'enterprise' });
  await api.catalog.workspaces.update(created.workspace.id, { analyticsPerSecond: 1 });
  const statuses: number[] = [];
  const httpClient = new HTTPClient();
  httpClient.addHook('response', ({ status }) => void statuses.push(status));
  const retrying = new Dub({
    token: created.apiKey.token,
    serverURL: api.url,
    httpClient,
    retryConfig: {
      strategy: 'backoff',
      // The negative exponent makes the SDK's own pause the longest one: only `Retry-After` ends it within the time limit of a test.
      backoff: { initialInterval: 1, exponent: -1, maxInterval: 600_000, maxElapsedTime: 60_000 },
    },
  });
  // On a busy machine two requests may be a second apart, so that none is refused.
  while (!statuses.includes(429)) await Promise.all([retrying.analytics.retrieve(), retrying.analytics.retrieve()]);
  expect(statuses.at(-1)).toBe(200);
});

describe('partners', () => {
  const email = (name: string) => `${name}@example.com`;

  it('are listed by each status, and with each order, whatever their state', async () => {
    const { partners } = documented.api.catalog;
    const apply = async (name: string) =>
      (await partners.create(documented.workspaceId, { name, email: email(name), status: 'pending' })).id;
    const [pending, refused, approved] = [await apply('pending'), await apply('refused'), await apply('accepted')];
    await dub.partnerApplications.reject({
      ...{ partnerId: refused, rejectionReason: 'other', rejectionNote: 'not now', reapplicationTimeframe: 'never' },
      ...{ flagForFraud: true, flagForFraudReason: 'twice' },
    });
    expect(await dub.partnerApplications.list({ country: 'FR' })).toEqual([]);
    expect((await dub.partnerApplications.list()).map(({ partner }) => partner.id)).toContain(pending);
    const { groupId } = await dub.partners.create({ email: email('banned'), tenantId: 'banned' });
    await dub.partnerApplications.approve({ partnerId: approved, groupId });
    await dub.partners.create({ email: email('idle'), tenantId: 'idle' });
    await dub.partners.ban({ tenantId: 'banned', reason: 'fake_traffic' });
    await dub.partners.deactivate({ tenantId: 'idle' });
    const expected = { pending, rejected: refused, approved };
    for (const status of Object.values(ListPartnersQueryParamStatus)) {
      const found = await dub.partners.list({ status });
      expect(found.map((partner) => partner.status)).toEqual(found.map(() => status));
      if (status in expected) expect(found.map(({ id }) => id)).toContain(expected[status as keyof typeof expected]);
    }
    const [banned] = await dub.partners.list({ status: 'banned' });
    expect(banned).toMatchObject({ tenantId: 'banned', bannedReason: 'fake_traffic', bannedAt: expect.any(String) });
    expect(await dub.partners.list({ status: 'deactivated' })).toMatchObject([{ tenantId: 'idle' }]);
    const orders = Object.values(ListPartnersQueryParamSortBy).flatMap((sortBy) =>
      (['asc', 'desc'] as const).map((sortOrder) => ({ sortBy, sortOrder })),
    );
    const lists = await Promise.all(orders.map((order) => dub.partners.list({ ...order, pageSize: 100 })));
    expect(lists.map(({ length }) => length)).toEqual(orders.map(() => 5));
    expect(await dub.partners.retrieveLinks({ partnerId: pending })).toEqual([]);
  });

  it('get links with the fields of `linkProps`', async () => {
    await dub.tags.create({ name: 'boots' });
    const texts = { title: 'Boots', comments: 'first', expiresAt: '2030-01-02T03:04:05.000Z' };
    const linkProps = { ...texts, tagNames: ['boots'] };
    const created = await dub.partners.create({ email: email('nameless'), tenantId: 'nameless', linkProps });
    expect(created).toMatchObject({
      name: email('nameless'),
      status: 'approved',
      links: [{ key: expect.any(String) }],
    });
    const again = await dub.partners.create({ email: email('nameless').toUpperCase(), tenantId: 'nameless' });
    expect(again.id).toBe(created.id);
    const [link] = created.links ?? [];
    const stored = await dub.links.get({ linkId: link?.id ?? '' });
    expect(stored).toMatchObject({ ...texts, tags: [{ name: 'boots' }], partnerId: created.id });

    const url = 'https://acme.com/second';
    const selected = { partnerId: created.id, url, linkProps: { title: 'Second', doIndex: true } };
    const second = await dub.partners.createLink({ ...selected, key: 'second', comments: 'by hand' });
    expect(second).toMatchObject({ key: 'second', comments: 'by hand', title: 'Second', doIndex: true });
    expect(await dub.partners.upsertLink(selected)).toMatchObject({ id: second.id });
    const third = await dub.partners.upsertLink({ tenantId: 'nameless', url: 'https://acme.com/third', key: 'third' });
    expect(third).toMatchObject({ key: 'third', partnerId: created.id });

    const range = { start: '2026-03-01', end: '2026-03-10', timezone: 'Europe/Paris' };
    const days = { tenantId: 'nameless', groupBy: 'timeseries', ...range, query: "metadata['plan'] = 'pro'" } as const;
    const [first, ...more] = (await dub.partners.analytics(days)) as unknown as readonly { readonly start: string }[];
    expect(first).toMatchObject({ start: '2026-03-01T00:00:00.000+0100', clicks: 0, earnings: 0 });
    expect(more).toHaveLength(9);
  });
});

describe('leads', () => {
  /** A link of a partner, with a click. */
  async function aClickOnLink(tenantId: string): Promise<{ readonly linkId: string; readonly clickId: string }> {
    const { links = [] } = await dub.partners.create({ email: `${tenantId}@example.com`, tenantId });
    const linkId = links?.[0]?.id ?? '';
    const timestampMs = Date.now() - 60_000;
    const clickId = createEventId(timestampMs);
    const click = aClick({
      workspaceId: parseResourceId('workspace', documented.workspaceId) ?? '',
      linkId: parseResourceId('link', linkId) ?? '',
      clickId,
      timestampMs,
    });
    await insertClicks(documented.api.database.client, [click]);
    return { linkId, clickId };
  }
  const leadsOf = (externalId: string, linkId: string, count: number) =>
    waitFor(
      async () => {
        const events = await dub.events.list({ event: 'leads', linkId });
        return events.length >= count ? events : undefined;
      },
      { what: `${count} leads of ${externalId}` },
    );

  it.each(['async', 'wait'] as const)('of the mode %s are recorded as often as the quantity says', async (mode) => {
    const { clickId, linkId } = await aClickOnLink(`of-${mode}`);
    const customerExternalId = `lead-${mode}`;
    const lead = { clickId, eventName: 'Sign up', customerExternalId, mode, eventQuantity: 3, customerName: null };
    expect(await dub.track.lead(lead)).toMatchObject({ link: { id: linkId }, click: { id: clickId } });
    expect(await leadsOf(customerExternalId, linkId, 3)).toHaveLength(3);
  });

  it('of the mode deferred are recorded by a later call with an empty click id', async () => {
    const { clickId, linkId } = await aClickOnLink('deferred');
    const customerExternalId = 'lead-deferred';
    const lead = { eventName: 'Sign up', customerExternalId };
    await dub.track.lead({ ...lead, clickId, mode: 'deferred' });
    expect(await dub.customers.get({ id: `ext_${customerExternalId}` })).toMatchObject({
      externalId: customerExternalId,
    });
    const answer = await dub.track.lead({ ...lead, clickId: '' });
    expect(answer).toMatchObject({ click: { id: clickId }, link: { id: linkId } });
    expect(await leadsOf(customerExternalId, linkId, 1)).toHaveLength(1);
  });

  it('give customers a link and a partner, until the link is removed', async () => {
    const { clickId, linkId } = await aClickOnLink('expanded');
    const customerExternalId = 'lead-expanded';
    await dub.track.lead({ clickId, eventName: 'Sign up', customerExternalId, customerEmail: 'ada@example.com' });
    const id = `ext_${customerExternalId}`;
    const expanded = { link: { id: linkId }, partner: { email: 'expanded@example.com' } };
    expect(await dub.customers.get({ id, includeExpandedFields: true })).toMatchObject(expanded);
    const listed = await dub.customers.list({ externalId: customerExternalId, includeExpandedFields: true });
    expect(listed.result).toMatchObject([expanded]);
    const unchanged = await dub.customers.update({ id, includeExpandedFields: true });
    expect(unchanged).toMatchObject({ ...expanded, email: 'ada@example.com' });
    const requestBody = { email: null, avatar: null };
    expect(await dub.customers.update({ id, requestBody, includeExpandedFields: true })).toMatchObject(expanded);
    expect(await dub.customers.get({ id })).toMatchObject({ email: null, avatar: null });
    await dub.links.delete(linkId);
    expect(await dub.customers.get({ id, includeExpandedFields: true })).toMatchObject({ link: null });
  });
});
