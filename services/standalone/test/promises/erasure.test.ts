import { setTimeout as delay } from 'node:timers/promises';
import type { Erasure, Role, Scope } from '@waymark/contract';
import { removeOldPartsAtOnce, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startWholeApi, type WholeApi } from '../contract/whole-api.js';

const CANARY = 'canary9z';
let api: WholeApi;
let key: string;
let workspaceId: string;
let publishableKey: string;
let visitors = 0;

async function call<Body>(
  method: string,
  path: string,
  body?: object,
  token = key,
): Promise<{ status: number; body: Body; text: string }> {
  const response = await fetch(`${api.url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: (text.includes('\n') ? null : JSON.parse(text)) as Body, text };
}

const erase = (id: string, body: object = {}, token = key) =>
  call<Erasure>('POST', `/customers/${encodeURIComponent(id)}/erasure`, body, token);

/** A click with a text in every field that a visitor fills in. @returns its id */
async function click(text: string): Promise<string> {
  visitors += 1;
  const { headers } = await api.callLinks({
    url: `/try?utm_term=${text}&utm_source=${text}`,
    headers: {
      ...{ host: 'go.acme.com', 'user-agent': `Mozilla/5.0 (X11; Linux x86_64) Chrome/142.0 ${text}` },
      ...{ referer: `https://${text}.example/page`, 'x-forwarded-for': `203.0.113.${visitors}`, 'cf-ipcity': text },
    },
  });
  return new URL(String(headers.location)).searchParams.get('dub_id') ?? '';
}

/** A click, a lead and a sale of a customer, stored. @returns the customer's id */
async function journey(externalId: string, text = externalId): Promise<string> {
  const clickId = await click(text);
  const lead = {
    ...{ clickId, eventName: `Lead ${text}`, customerExternalId: externalId, customerName: text },
    ...{ customerEmail: `${text}@example.com`, metadata: { [text]: { nested: text } } },
  };
  expect(await call('POST', '/track/lead', lead)).toMatchObject({ status: 200 });
  const sale = {
    customerExternalId: externalId,
    amount: 4900,
    eventName: 'Purchase',
    invoiceId: text,
    metadata: { text },
  };
  expect(await call('POST', '/track/sale', sale)).toMatchObject({ status: 200 });
  await stored(externalId);
  return (await call<{ id: string }>('GET', `/customers/${encodeURIComponent(`ext_${externalId}`)}`)).body.id;
}

/** The list, at the first answer that is not over the rate limit. */
const events = (event: string) =>
  waitFor(
    async () => {
      const answer = await call<Record<string, unknown>[]>('GET', `/events?event=${event}&interval=24h&limit=1000`);
      return answer.status === 200 && answer;
    },
    { what: 'a list of events' },
  );

function stored(externalId: string): Promise<unknown> {
  return waitFor(async () => (await events('sales')).text.includes(`"externalId":${JSON.stringify(externalId)}`), {
    what: `the sale of ${externalId}`,
  });
}

/** Everything that ClickHouse and Redis have, and the texts of mutations. */
async function everything(): Promise<string> {
  const { client } = api.database;
  const tables = await client.rows<[string]>({
    query: `SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree'`,
  });
  const texts = await Promise.all(
    tables.map(async ([name]) => JSON.stringify(await client.rows({ query: `SELECT * FROM ${name}` }))),
  );
  const mutations = await client.rows({
    query: 'SELECT command FROM system.mutations WHERE database = currentDatabase()',
  });
  return [...texts, JSON.stringify(mutations), await api.redisTexts()].join('\n');
}

/** Sales of a link, as the pages of events of any process show them. */
const sharedSales = async (linkId: string) =>
  (await api.catalog.links.cachedCounters(workspaceId, [linkId])).get(linkId)?.sales;

const totals = async () =>
  (await call<object>('GET', '/links/info?domain=go.acme.com&key=try')).body as Record<string, unknown>;

const TABLES = [
  'click_events',
  'click_aliases',
  'lead_events',
  'sale_events',
  'customers',
  'names',
  'customer_totals',
  'webhook_deliveries',
];

/** Runs the batch to its end. */
function untilErased(id: string): Promise<Erasure> {
  return waitFor(
    async () => {
      await api.runErasures();
      await delay(500);
      const { body } = await call<Erasure>('GET', `/erasures/${id}`);
      return body.status === 'erased' ? body : undefined;
    },
    { what: 'the erasure' },
  );
}

beforeAll(async () => {
  api = await startWholeApi({ trustedProxies: ['127.0.0.1/32'] });
  const made = await api.catalog.workspaces.create({
    name: 'Acme',
    slug: 'acme',
    plan: 'enterprise',
    domain: 'go.acme.com',
  });
  key = made.apiKey.token;
  publishableKey = made.publishableKey.token;
  workspaceId = made.workspace.id;
  await removeOldPartsAtOnce(api.database.client, TABLES);
  api.startWriter();
  expect(
    (
      await call('POST', '/links', {
        domain: 'go.acme.com',
        key: 'try',
        url: 'https://acme.com',
        trackConversion: true,
      })
    ).status,
  ).toBe(200);
});
afterAll(() => api.close());

it('is accepted when record, texts and files are gone, and ends when no table and no key has them', async () => {
  await journey('other');
  const { lastClicked: _without, ...never } = await totals();
  const deleted = await journey(`${CANARY}-never`);
  const counted = await totals();
  const first = await journey('again', `${CANARY}-again`);
  const exported = (await call<{ id: string }>('POST', '/exports', { resource: 'events', filters: { event: 'leads' } }))
    .body.id;
  const job = () => call<{ status: string; error: string | null }>('GET', `/exports/${exported}`);
  await waitFor(async () => (await job()).body.status === 'completed', { what: 'the export' });

  const accepted = await erase('ext_again');
  expect(accepted).toMatchObject({
    status: 202,
    body: { mode: 'anonymise', status: 'accepted', customerIds: [first], kept: [] },
  });
  for (const kind of ['leads', 'sales', 'clicks']) expect((await events(kind)).text).not.toContain(`${CANARY}-again`);
  const lead = (await events('leads')).body.find((event) => (event.customer as { id: string }).id === first);
  expect(lead).toMatchObject({ customer: { name: 'Deleted Customer' }, metadata: null, ip: '', eventName: 'Erased' });
  const file = await call('GET', '/events/export?event=leads&interval=24h&format=ndjson');
  expect(file.text).not.toContain(`${CANARY}-again`);
  expect((await call('GET', `/customers/${first}`)).status).toBe(404);
  expect((await job()).body).toMatchObject({ status: 'expired', error: expect.stringContaining('erased') });
  expect((await erase(first)).body.id).toBe(accepted.body.id);

  // The external id of an erased person is free: whoever gets it next is a new customer, who is not erased.
  const second = await journey('again', 'second');
  expect(second).not.toBe(first);
  await sharedSales(String(counted.id));
  const deletion = await erase(deleted, { mode: 'delete' });
  expect(deletion.body).toMatchObject({ mode: 'delete', kept: ['link.lastClicked'] });
  const unseen = await erase('ext_nobody');
  expect([unseen.status, unseen.body.customerIds]).toEqual([202, []]);
  expect((await erase('ext_nobody')).body.id).toBe(unseen.body.id);
  expect((await erase('cus_00000000001')).status).toBe(404);

  expect(await untilErased(accepted.body.id)).toMatchObject({ events: 2, clicks: 1 });
  for (const { body } of [deletion, unseen]) await untilErased(body.id);
  expect((await call('GET', '/customers/ext_again')).body).toMatchObject({ id: second, name: 'second' });
  expect(await everything()).not.toContain(CANARY);
  // An event name that others have too does not identify the person, so the erasure keeps it.
  const ofFirst = async (kind: string) =>
    (await events(kind)).body.find((event) => (event.customer as { id: string }).id === first)?.eventName;
  expect([await ofFirst('leads'), await ofFirst('sales')]).toEqual(['Erased', 'Purchase']);
  expect((await erase(second)).body.id).not.toBe(accepted.body.id);
  expect((await events('leads')).text).toContain('"name":"other"');
  // The deleted person was in these totals, the two customers of the other are in them still.
  const now = await totals();
  expect([counted.clicks, now.clicks, now.sales, now.saleAmount]).toEqual([
    Number(never.clicks) + 1,
    Number(never.clicks) + 2,
    Number(never.sales) + 2,
    Number(never.saleAmount) + 9800,
  ]);
  // Nor are they in the totals that processes share.
  await waitFor(async () => (await sharedSales(String(now.id))) === now.sales, { what: 'the shared totals' });
}, 120_000);

it('finds the click that brought a customer of whom there is no lead', async () => {
  const before = await totals();
  const ids = new Map<string, string>();
  for (const mode of ['anonymise', 'delete']) {
    const text = `${CANARY}-deferred-${mode}`;
    const clickId = await click(text);
    const lead = { clickId, eventName: 'Sign up', customerExternalId: text, mode: 'deferred' };
    expect(await call('POST', '/track/lead', lead)).toMatchObject({ status: 200 });
    await waitFor(async () => (await events('clicks')).text.includes(text), { what: 'the click' });
    ids.set(mode, (await erase(`ext_${text}`, { mode })).body.id);
  }
  expect((await events('clicks')).text).not.toContain(`${CANARY}-deferred`);
  for (const id of ids.values()) expect(await untilErased(id)).toMatchObject({ events: 0, clicks: 1 });
  expect(await everything()).not.toContain(CANARY);
  expect((await totals()).clicks).toBe(Number(before.clicks) + 1);
}, 120_000);

it('a click of a person who is deleted stays, if somebody who is anonymised in the same batch has it too', async () => {
  const clickId = await click('shared');
  const names = ['deleted', 'anonymised'].map((mode) => `${CANARY}-shared-${mode}`);
  for (const customerExternalId of names) {
    const lead = { clickId, eventName: 'Sign up', customerExternalId };
    expect(await call('POST', '/track/lead', lead)).toMatchObject({ status: 200 });
    await waitFor(async () => (await events('leads')).text.includes(`"${customerExternalId}"`), { what: 'the lead' });
  }
  const before = await totals();
  const [deleted, anonymised] = names;
  const ids = [
    (await erase(`ext_${deleted}`, { mode: 'delete' })).body.id,
    (await erase(`ext_${anonymised}`, { mode: 'anonymise' })).body.id,
  ];
  for (const id of ids) await untilErased(id);
  const now = await totals();
  expect([now.clicks, now.leads]).toEqual([before.clicks, Number(before.leads) - 1]);
  expect((await events('clicks')).text).toContain(`"id":"${clickId}"`);
}, 120_000);

it('a repeated request does not postpone the batch', async () => {
  await journey('repeated');
  const { id } = (await erase('ext_repeated')).body;
  const updatedAt = async () => (await api.catalog.erasures.get(workspaceId, id))?.updatedAt;
  const accepted = await updatedAt();
  expect((await erase('ext_repeated')).body.id).toBe(id);
  expect(await updatedAt()).toBe(accepted);
});

it('a visitor whose click was deleted counts as a new one at once, once an hour as ever', async () => {
  const visitor = { host: 'go.acme.com', 'x-forwarded-for': '198.51.100.7' };
  const visit = async () =>
    new URL(String((await api.callLinks({ url: '/try', headers: visitor })).headers.location)).searchParams.get(
      'dub_id',
    );
  const clickId = await visit();
  expect(await visit()).toBe(clickId);
  const lead = (id: string | null) =>
    call('POST', '/track/lead', { clickId: id, eventName: 'Sign up', customerExternalId: 'returns' });
  expect((await lead(clickId)).status).toBe(200);
  await erase('ext_returns', { mode: 'delete' });
  expect((await lead(clickId)).status).toBe(404);
  const next = await waitFor(async () => [await visit()].find((id) => id !== clickId), { what: 'a click of its own' });
  expect(await visit()).toBe(next);
  expect((await lead(next ?? '')).status).toBe(200);
});

it('is refused to other workspaces, public keys, members, and keys without the permission', async () => {
  const id = await journey('guarded');
  const other = await api.catalog.workspaces.create({
    name: 'Other',
    slug: 'other',
    plan: 'enterprise',
    domain: 'go.other.com',
  });
  const keyOf = async (role: Role, scopes: Scope[] = []) =>
    (await api.catalog.keys.create({ workspaceId, kind: 'secret', name: 'k', role, scopes })).token;
  const { body } = await erase('ext_list-me');
  expect((await erase(id, {}, other.apiKey.token)).status).toBe(404);
  expect((await call('GET', `/erasures/${body.id}`, undefined, other.apiKey.token)).status).toBe(404);
  expect((await call('GET', '/erasures', undefined, other.apiKey.token)).body).toEqual([]);
  for (const token of [
    publishableKey,
    await keyOf('member'),
    await keyOf('viewer'),
    await keyOf('owner', ['links.write']),
  ]) {
    expect((await erase(id, {}, token)).status).toBeOneOf([401, 403]);
    expect((await call('GET', '/erasures', undefined, token)).status).toBeOneOf([401, 403]);
  }
  expect((await call('GET', `/customers/${id}`)).status).toBe(200);
});
