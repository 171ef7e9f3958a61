import type { PartnerRecord } from '@waymark/catalog';
import {
  createEventId,
  createResourceId,
  GROUPINGS,
  HIDDEN_PASSWORD,
  parseResourceId,
  type Role,
  type Scope,
} from '@waymark/contract';
import { aClick, aLead, aSale, insertClicks, insertLeads, insertSales } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startWholeApi, type WholeApi } from '../contract/whole-api.js';

// Visibility of folders without an access level, and of passwords: docs/reference/access.md. All texts in the hidden folder contain a
// marker, so that any leak in a response is found.

const MARK = 'topsecret';
const HOST = 'go.acme.example';
const SECRET_URL = `https://${MARK}.example/page`;
const PASSWORD = 'open sesame';

let api: WholeApi;
let workspaceId: string;
let partner: PartnerRecord;
/** Public ids of the hidden and of the visible resources. */
const ids = { hidden: '', secret: '', open: '', shown: '', secretClick: '', openClick: '', customer: '' };

interface Answer {
  readonly status: number;
  readonly text: string;
}

type Call = (method: string, path: string, body?: object) => Promise<Answer>;

const callers = new Map<string, Call>();
/** The caller with that name in the tables below. */
const as = (name: string): Call => callers.get(name) ?? expect.fail(name);

function calling(token: string): Call {
  return async (method, path, body) => {
    const response = await fetch(`${api.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: response.status, text: await response.text() };
  };
}

async function addCaller(name: string, role: Role, scopes: readonly Scope[] = []): Promise<void> {
  const { token } = await api.catalog.keys.create({ workspaceId, name, kind: 'secret', role, scopes });
  callers.set(name, calling(token));
}

/** Replaces placeholders such as `{secret}` by ids. */
const filled = (text: string) => text.replace(/\{(\w+)\}/g, (_all, name: keyof typeof ids) => ids[name]);

/** The ids and markers of the hidden folder that a response contains. */
const mentions = ({ text }: Answer) =>
  [MARK, ids.hidden, ids.secret, ids.secretClick].filter((mark) => text.toLowerCase().includes(mark.toLowerCase()));

async function storeEvents(): Promise<void> {
  const number = (kind: Parameters<typeof parseResourceId>[0], id: string) => parseResourceId(kind, id) ?? '';
  const workspace = number('workspace', workspaceId);
  const customerId = number('customer', ids.customer);
  // Not older than the workspace: on its first day `interval=all` begins with the midnight before it was created.
  const storedMs = Date.now();
  const clickOf = (linkId: string, msAgo: number, word: string) => {
    const timestampMs = storedMs - msAgo;
    return aClick({
      ...{ workspaceId: workspace, linkId: number('link', linkId), timestampMs, clickId: createEventId(timestampMs) },
      ...{ url: `https://${word}.example/page?utm_source=${word}&utm_campaign=${word}`, city: word },
      ...{ referer: `${word}.example`, refererUrl: `https://${word}.example/` },
    });
  };
  const secret = [1, 2].map((msAgo) => clickOf(ids.secret, msAgo, MARK));
  const open = clickOf(ids.open, 3, 'plain');
  ids.secretClick = String(secret[0]?.[2]);
  ids.openClick = String(open[2]);
  const lead = (click: typeof open, eventName: string) =>
    aLead({ click, customerId, eventName, timestampMs: storedMs });
  const sale = (click: typeof open, amount: number) =>
    aSale({ click, customerId, amount, timestampMs: storedMs, invoiceId: `old-${amount}` });
  const { client } = api.database;
  await insertClicks(client, [...secret, open]);
  await insertLeads(client, [...secret.map((click) => lead(click, MARK)), lead(open, 'plain')]);
  await insertSales(client, [...secret.map((click) => sale(click, 70_000)), sale(open, 500)]);
}

beforeAll(async () => {
  api = await startWholeApi();
  const { catalog } = api;
  const created = await catalog.workspaces.create({ name: 'Acme', slug: 'acme', plan: 'enterprise', domain: HOST });
  workspaceId = created.workspace.id;
  await catalog.workspaces.update(workspaceId, { analyticsPerSecond: 10_000, requestsPerMinute: 100_000 });
  callers.set('owner', calling(created.apiKey.token));
  await addCaller('member', 'member');
  await addCaller('member with scopes', 'member', ['links.read', 'folders.read', 'analytics.read']);
  await addCaller('viewer', 'viewer');
  await addCaller('owner who may only read', 'owner', ['links.read', 'analytics.read']);
  await addCaller('member who may only tag', 'member', ['tags.write']);

  const { workspace } = created;
  partner = await catalog.partners.create(workspaceId, {
    name: 'Ada',
    tenantId: 'ada',
    programId: workspace.defaultProgramId,
  });
  ids.hidden = (await catalog.folders.create(workspaceId, { name: `${MARK} folder`, accessLevel: null })).id;
  ids.shown = (await catalog.folders.create(workspaceId, { name: 'Shown', accessLevel: 'read' })).id;
  const tagIds = [(await catalog.tags.create(workspaceId, { name: 'news' })).id];
  const ofPartner = { partnerId: partner.id, programId: partner.programId, tenantId: 'ada' };
  const aLink = async (key: string, url: string, folderId: string) =>
    catalog.links.create(workspaceId, {
      ...{ domain: HOST, key, url, folderId, tagIds, ...ofPartner },
      ...{ title: key, externalId: key, password: PASSWORD },
    });
  ids.secret = (await aLink(MARK, SECRET_URL, ids.hidden)).id;
  ids.open = (await aLink('plain', 'https://plain.example/page', ids.shown)).id;
  ids.customer = (await catalog.customers.create(workspaceId, { externalId: 'eve', linkId: ids.secret })).id;
  await storeEvents();
});
afterAll(() => api.close());

/** Reads whose response contains data of the hidden folder for the owner. */
const READS: readonly string[] = [
  '/links',
  '/links?sortBy=clicks',
  '/links?sortBy=saleAmount&sortOrder=asc',
  `/links?search=${MARK}`,
  '/links?linkIds={secret},{open}',
  '/links?linkIds=ext_topsecret',
  `/links?domain=${HOST}`,
  '/links?tenantId=ada',
  '/links?startingAfter={open}&sortOrder=desc',
  '/links/count?groupBy=folderId',
  `/links/info?domain=${HOST}&key=${MARK}`,
  '/links/info?linkId={secret}',
  `/links/info?externalId=ext_${MARK}`,
  '/links/{secret}',
  `/links/ext_${MARK}`,
  '/folders',
  `/folders?search=${MARK}`,
  '/folders/{hidden}',
  ...['clicks', 'leads', 'sales'].flatMap((event) => [
    `/events?event=${event}`,
    `/events?event=${event}&linkId={secret}`,
    `/events?event=${event}&linkId=ext_${MARK}`,
    `/events?event=${event}&folderId=-{shown}`,
    `/events?event=${event}&tenantId=ada&sortOrder=asc`,
    `/events?event=${event}&domain=${HOST}&key=${MARK}`,
    `/events?event=${event}&externalId=ext_${MARK}`,
  ]),
  ...['clicks', 'composite'].flatMap((event) =>
    [
      'cities',
      'referers',
      'referer_urls',
      'top_links',
      'top_urls',
      'top_base_urls',
      'top_folders',
      'utm_sources',
    ].flatMap((groupBy) => [
      `/analytics?event=${event}&groupBy=${groupBy}`,
      `/analytics?event=${event}&groupBy=${groupBy}&interval=all&tenantId=ada`,
    ]),
  ),
  '/partners',
  '/partners/links?tenantId=ada',
  '/partners/analytics?tenantId=ada&groupBy=top_links',
  '/customers?includeExpandedFields=true',
  '/customers/ext_eve?includeExpandedFields=true',
];

/** Callers without access to the hidden folder; some may not call some of the routes at all. */
const KEPT_OUT = ['member', 'member with scopes', 'viewer'];

describe('a folder without an access level', () => {
  it.each(READS)('and its content are in the response of GET %s for owners only', async (path) => {
    expect(mentions(await as('owner')('GET', filled(path)))).not.toEqual([]);
    const answers = await Promise.all(KEPT_OUT.map((name) => as(name)('GET', filled(path))));
    for (const [index, answer] of answers.entries()) {
      expect([200, 403, 404], `${KEPT_OUT[index]}: ${answer.text}`).toContain(answer.status);
      expect(mentions(answer), KEPT_OUT[index]).toEqual([]);
    }
  });

  it.each(['startingAfter', 'endingBefore'])('has no link whose id members can use as %s', async (cursor) => {
    const path = filled(`/links?${cursor}={secret}`);
    const unknown = `/links?${cursor}=${createResourceId('link', Date.now())}`;
    expect((await as('owner')('GET', path)).status).toBe(200);
    for (const name of KEPT_OUT) expect(await as(name)('GET', path)).toEqual(await as(name)('GET', unknown));
  });

  it.each(GROUPINGS.flatMap((groupBy) => [`groupBy=${groupBy}`, `groupBy=${groupBy}&interval=all`]))(
    'adds nothing to the answers of GET /analytics?%s for members',
    async (parameters) => {
      const path = `/analytics?event=composite&${parameters}`;
      const sums = async (name: string) => {
        const { status, text } = await as(name)('GET', path);
        expect(status, text).toBe(200);
        const rows: Record<string, number>[] = [JSON.parse(text)].flat();
        const total = (field: string) => rows.reduce((sum, row) => sum + (row[field] ?? 0), 0);
        return { clicks: total('clicks'), leads: total('leads'), sales: total('sales'), amount: total('saleAmount') };
      };
      // That a caller may not see the folder does not depend on the grouping: above, others read eight of them.
      const [owner, member] = await Promise.all([sums('owner'), sums('member')]);
      const isEmpty = owner.clicks === 0;
      expect(member).toEqual(isEmpty ? owner : { clicks: 1, leads: 1, sales: 1, amount: 500 });
      if (!isEmpty) expect(owner).toEqual({ clicks: 3, leads: 3, sales: 3, amount: 140_500 });
    },
  );

  it.each([
    ['/links/count', '3', '2'],
    [`/links/count?search=${MARK}`, '1', '0'],
    ['/analytics?event=clicks&linkId={secret}', '"clicks":2', '"clicks":0'],
    ['/partners/analytics?tenantId=ada', '"saleAmount":140500', '"saleAmount":500'],
    ['/partners?sortBy=totalSaleAmount', '"totalSaleAmount":140500', '"totalSaleAmount":500'],
    ['/customers?linkId={secret}', '"externalId":"eve"', '[]'],
    [`/customers?linkId=ext_${MARK}`, '"externalId":"eve"', '[]'],
  ])('is not counted by GET %s', async (path, forOwner, forMember) => {
    expect((await as('owner')('GET', filled(path))).text).toContain(forOwner);
    expect((await as('member')('GET', filled(path))).text).toContain(forMember);
  });

  it('keeps the customers of its removed links to owners', async () => {
    const link = await api.catalog.links.create(workspaceId, {
      ...{ domain: HOST, key: 'removed', url: SECRET_URL, folderId: ids.hidden },
    });
    await api.catalog.customers.create(workspaceId, { externalId: 'mallory', linkId: link.id });
    expect((await as('owner')('DELETE', `/links/${link.id}`)).status).toBe(200);
    for (const path of [`/customers?linkId=${link.id}`, `/customers/export?format=ndjson&linkId=${link.id}`]) {
      expect((await as('owner')('GET', path)).text).toContain('"externalId":"mallory"');
      const { status, text } = await as('member')('GET', path);
      expect([status, text.replace('[]', '')]).toEqual([200, '']);
    }
  });

  const WRITES: readonly { status: number; request: string; body?: object }[] = [
    { status: 404, request: 'PATCH /links/{secret}', body: { title: 'x' } },
    { status: 404, request: 'PUT /links/{secret}', body: { title: 'x' } },
    { status: 404, request: `PATCH /links/ext_${MARK}`, body: { title: 'x' } },
    { status: 404, request: 'DELETE /links/{secret}' },
    { status: 200, request: 'PATCH /links/bulk', body: { linkIds: ['{secret}', '{open}'], data: { title: 'x' } } },
    { status: 404, request: 'PATCH /links/bulk', body: { linkIds: ['{secret}'], data: { title: 'x' } } },
    { status: 404, request: 'PATCH /links/bulk', body: { externalIds: [MARK], data: { title: 'x' } } },
    { status: 200, request: 'DELETE /links/bulk?linkIds={secret}' },
    { status: 403, request: 'POST /links', body: { url: 'https://acme.com', folderId: '{hidden}' } },
    { status: 404, request: 'PATCH /folders/{hidden}', body: { name: 'x' } },
    { status: 404, request: 'DELETE /folders/{hidden}' },
    { status: 403, request: 'GET /links?folderId={hidden}' },
    { status: 403, request: 'GET /links/count?folderId={hidden}' },
    { status: 403, request: 'GET /events?folderId={hidden}' },
    { status: 403, request: 'GET /analytics?folderId={hidden}' },
  ];
  it.each(WRITES)(
    'answers $status to a member, and changes nothing: $request $body',
    async ({ status, request, body }) => {
      const [method = '', path = ''] = request.split(' ');
      const sent = body && JSON.parse(filled(JSON.stringify(body)));
      const answer = await as('member')(method, filled(path), sent);
      expect(answer.status, answer.text).toBe(status);
      expect(mentions(answer)).toEqual([]);
      const link = JSON.parse((await as('owner')('GET', `/links/${ids.secret}`)).text);
      expect(link).toMatchObject({ id: ids.secret, title: MARK, folderId: ids.hidden });
    },
  );

  it.each<[string, object]>([
    ['/links/upsert', { url: SECRET_URL }],
    ['/partners/links/upsert', { url: SECRET_URL, tenantId: 'ada' }],
  ])('is not used by PUT %s: a member gets a new link', async (path, body) => {
    const answer = await as('member')('PUT', path, body);
    expect(answer.status, answer.text).toBe(200);
    expect(answer.text).not.toContain(ids.secret);
    expect((await as('member')('DELETE', `/links/${JSON.parse(answer.text).id}`)).status).toBe(200);
  });

  it('is not revealed to a member who tracks a lead of a link in it', async () => {
    const body = { clickId: ids.secretClick, eventName: 'Sign up', customerExternalId: 'fay' };
    const answer = await as('member')('POST', '/track/lead', body);
    expect([answer.status, JSON.parse(answer.text).link]).toEqual([200, null]);
    const owner = await as('owner')('POST', '/track/lead', { ...body, customerExternalId: 'gus' });
    expect(JSON.parse(owner.text).link).toMatchObject({ id: ids.secret });
  });

  it('does not reveal its sales to a member who repeats an invoice: the response contains what was sent', async () => {
    const first = { customerExternalId: 'hal', clickId: ids.secretClick, eventName: `Buy ${MARK}`, amount: 70_123 };
    const details = { currency: 'usd', paymentProcessor: 'stripe', metadata: { plan: MARK } };
    const paid = { ...first, ...details, invoiceId: 'inv-1' };
    expect((await as('owner')('POST', '/track/sale', paid)).status).toBe(200);
    const repeat = { customerExternalId: 'hal', invoiceId: 'inv-1', eventName: 'Buy', amount: 5, currency: 'eur' };
    const answer = await as('member')('POST', '/track/sale', repeat);
    expect([answer.status, mentions(answer)]).toEqual([200, []]);
    const sale = { amount: 5, currency: 'eur', invoiceId: 'inv-1', paymentProcessor: 'custom', metadata: null };
    expect(JSON.parse(answer.text)).toEqual({ eventName: 'Buy', customer: null, sale });
    const owner = JSON.parse((await as('owner')('POST', '/track/sale', repeat)).text);
    expect(owner).toMatchObject({ eventName: paid.eventName, sale: { amount: 70_123, invoiceId: 'inv-1' } });

    // Stored long ago, so it is found in ClickHouse.
    const old = await as('member')('POST', '/track/sale', { ...repeat, invoiceId: 'old-70000' });
    expect(JSON.parse(old.text)).toEqual({
      eventName: 'Buy',
      customer: null,
      sale: { ...sale, invoiceId: 'old-70000' },
    });
    const plain = JSON.parse((await as('member')('POST', '/track/sale', { ...repeat, invoiceId: 'old-500' })).text);
    expect(plain.sale).toMatchObject({ amount: 500, invoiceId: 'old-500' });

    const shown = {
      ...repeat,
      clickId: ids.openClick,
      customerExternalId: 'ivy',
      invoiceId: 'inv-2',
      eventName: 'Rent',
    };
    expect((await as('owner')('POST', '/track/sale', shown)).status).toBe(200);
    const again = JSON.parse((await as('member')('POST', '/track/sale', { ...repeat, invoiceId: 'inv-2' })).text);
    expect(again).toMatchObject({ eventName: 'Rent', customer: { externalId: 'ivy' } });
  });

  it('becomes visible to members at once when it gets an access level, and hidden at once when that is removed', async () => {
    const link = () => as('member')('GET', filled('/links/{secret}'));
    const clicks = async () => JSON.parse((await as('member')('GET', '/analytics?event=clicks')).text).clicks;
    expect((await as('owner')('PATCH', filled('/folders/{hidden}'), { accessLevel: 'read' })).status).toBe(200);
    expect([(await link()).status, await clicks()]).toEqual([200, 3]);
    expect((await as('owner')('PATCH', filled('/folders/{hidden}'), { accessLevel: null })).status).toBe(200);
    expect([(await link()).status, await clicks()]).toEqual([404, 1]);
  });
});

describe('the password of a link', () => {
  const ways = ['/links?linkIds={open}', '/links/{open}', '/links/info?linkId={open}', '/events?linkId={open}'];
  it.each([
    ['owner', PASSWORD],
    ['member', PASSWORD],
    ['member with scopes', HIDDEN_PASSWORD],
    ['viewer', HIDDEN_PASSWORD],
    ['owner who may only read', HIDDEN_PASSWORD],
  ])('is shown to a caller "%s" as "%s"', async (name, password) => {
    for (const way of ways) {
      const [item] = [JSON.parse((await as(name)('GET', filled(way))).text)].flat();
      expect((item.link ?? item).password, way).toBe(password);
    }
  });

  it('is hidden in the response of a write from a caller without links.write', async () => {
    const linkProps = { password: 'chosen' };
    for (const [method, path] of [
      ['POST', '/partners/links'],
      ['PUT', '/partners/links/upsert'],
    ] as const) {
      const body = { tenantId: 'ada', url: 'https://acme.com/partner', linkProps };
      const answer = await as('member who may only tag')(method, path, body);
      expect([answer.status < 300, JSON.parse(answer.text).password]).toEqual([true, HIDDEN_PASSWORD]);
    }
  });

  it('stays unchanged when its placeholder is sent back', async () => {
    const read = JSON.parse((await as('viewer')('GET', filled('/links/{open}'))).text);
    expect(read.password).toBe(HIDDEN_PASSWORD);
    const { password } = read;
    for (const [method, path, body] of [
      ['PATCH', '/links/{open}', { password, comments: 'a' }],
      ['PATCH', '/links/bulk', { linkIds: [ids.open], data: { password, comments: 'b' } }],
    ] as const) {
      expect((await as('owner')(method, filled(path), body)).text).toContain(`"password":"${PASSWORD}"`);
    }
    const upserted = await as('owner')('PUT', '/links/upsert', { url: 'https://plain.example/page', password });
    expect(JSON.parse(upserted.text)).toMatchObject({ id: ids.open, password: PASSWORD });
  });

  it('cannot be set to the placeholder', async () => {
    const created = await as('owner')('POST', '/links', { url: 'https://acme.com', password: HIDDEN_PASSWORD });
    expect([created.status, created.text]).toEqual([422, expect.stringContaining('password: ')]);
    const { id } = JSON.parse((await as('owner')('POST', '/links', { url: 'https://acme.com' })).text);
    const changed = await as('owner')('PATCH', `/links/${id}`, { password: HIDDEN_PASSWORD });
    expect([changed.status, changed.text]).toEqual([422, expect.stringContaining('password: ')]);
  });
});
