import { draftCustomer, type LinkRecord } from '@waymark/catalog';
import type { Tag } from '@waymark/contract';
import { addPendingCustomer } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { aWorkspace, MINUTE_MS, NOW, startQuery, type TestQuery, type TestWorkspace } from '../test-query.js';

let query: TestQuery;
let workspace: TestWorkspace;
let tag: Tag;
let link: LinkRecord;

beforeAll(async () => {
  query = await startQuery();
  workspace = await aWorkspace(query);
  tag = await query.catalog.tags.create(workspace.id, { name: 'Spring' });
  link = await workspace.aLink({ key: 'try', externalId: 'ours/1', password: 'sesame', tagIds: [tag.id] });
});
afterAll(() => query.close());

const ids = (body: readonly object[]) =>
  body.map((item) => ('eventId' in item ? item.eventId : 'click_id' in item && item.click_id));

describe('the content of an event', () => {
  test('a click is as recorded, its link as it is now', async () => {
    const click = workspace.click(link, 5, {
      trigger: 'qr',
      url: 'https://acme.com/?a=1',
      ip: '203.0.113.7',
      city: 'Köln',
    });
    await workspace.store({ clicks: [click] });
    const { status, body } = await workspace.events({ linkId: link.id });
    expect(status).toBe(200);
    expect(body).toEqual([
      {
        event: 'click',
        timestamp: '2026-11-21T14:25:00.250Z',
        click: {
          id: click[2],
          timestamp: '2026-11-21T14:25:00.250Z',
          url: 'https://acme.com/?a=1',
          country: 'FR',
          city: 'Köln',
          region: 'FR-IDF',
          continent: 'EU',
          device: 'Desktop',
          browser: 'Firefox',
          os: 'Windows',
          ua: 'Mozilla/5.0',
          trigger: 'qr',
          referer: '(direct)',
          refererUrl: '(direct)',
          qr: true,
          ip: '203.0.113.7',
        },
        link: (await query.catalog.links.objects(workspace.id, [link], { hidesPasswords: false }))[0],
        click_id: click[2],
        link_id: link.id,
        domain: workspace.host,
        key: 'try',
        url: 'https://acme.com/?a=1',
        continent: 'EU',
        country: 'FR',
        city: 'Köln',
        device: 'Desktop',
        browser: 'Firefox',
        os: 'Windows',
        qr: 1,
        ip: '203.0.113.7',
      },
    ]);
    expect(body[0]?.link).toMatchObject({
      clicks: 1,
      lastClicked: '2026-11-21T14:25:00.250Z',
      password: 'sesame',
      workspaceId: workspace.id,
      tagId: tag.id,
      tags: [{ id: tag.id, name: 'Spring', color: tag.color }],
      shortLink: `https://${workspace.host}/try`,
    });
  });

  test('leads and sales contain their click with its own time, their customer and metadata', async () => {
    const other = await aWorkspace(query);
    const tracked = await other.aLink({ key: 'a', trackConversion: true });
    const ada = await other.aCustomer({ externalId: 'user_42', name: 'Ada', email: 'ada@example.com', country: 'FR' });
    const click = other.click(tracked, 30);
    const lead = other.lead(click, ada, 20, { metadata: { plan: 'pro', nested: { click: { id: 'x' } } } });
    const sale = other.sale(click, ada, 10, { amount: 2900, invoiceId: 'INV_1', paymentProcessor: 'stripe' });
    const free = other.sale(click, ada, 9, { amount: 0, saleType: 'recurring' });
    await other.store({ clicks: [click], leads: [lead], sales: [sale, free] });

    const { body: leads } = await other.events({ event: 'leads' });
    expect(leads).toHaveLength(1);
    expect(leads[0]).toMatchObject({
      event: 'lead',
      timestamp: '2026-11-21T14:10:00.250Z',
      eventId: lead[2],
      eventName: 'Sign up',
      metadata: { plan: 'pro', nested: { click: { id: 'x' } } },
      click: { id: click[2], timestamp: '2026-11-21T14:00:00.250Z' },
      click_id: click[2],
      link: { id: tracked.id, clicks: 1, leads: 1, sales: 2, conversions: 1, saleAmount: 2900 },
    });
    const { body: sales } = await other.events({ event: 'sales', sortOrder: 'asc' });
    expect(sales).toMatchObject([
      {
        event: 'sale',
        sale: { amount: 2900, invoiceId: 'INV_1', paymentProcessor: 'stripe', currency: 'usd' },
        metadata: null,
        saleAmount: 2900,
        invoice_id: 'INV_1',
        payment_processor: 'stripe',
        customer: {
          id: ada.id,
          externalId: 'user_42',
          name: 'Ada',
          email: 'ada@example.com',
          country: 'FR',
          sales: 2,
          saleAmount: 2900,
          firstSaleAt: '2026-11-21T14:20:00.250Z',
        },
      },
      { saleAmount: 0, invoice_id: '', payment_processor: 'custom', sale: { invoiceId: null } },
    ]);
  });

  test('a removed customer is shown as a placeholder', async () => {
    const other = await aWorkspace(query);
    const click = other.click(await other.aLink({ key: 'a' }), 30);
    const gone = { id: 'cus_0000000009Z' };
    await other.store({ leads: [other.lead(click, gone, 20)] });
    const { body } = await other.events({ event: 'leads' });
    expect(body).toMatchObject([{ customer: { id: gone.id, name: 'Deleted Customer', externalId: gone.id } }]);
  });

  test('removing a customer changes no counter and no analytics, also not those of its id', async () => {
    const other = await aWorkspace(query);
    const customer = await other.aCustomer({ externalId: 'gone' });
    const click = other.click(await other.aLink({ key: 'a' }), 30);
    await other.store({
      ...{ clicks: [click, other.click(await other.aLink({ key: 'b' }), 30)] },
      ...{ leads: [other.lead(click, customer, 20)], sales: [other.sale(click, customer, 10)] },
    });
    const numbers = async () => {
      const { body } = await other.events({ event: 'sales' });
      const count = async (parameters: object) =>
        (await other.analytics({ event: 'composite', interval: 'all', ...parameters })).body;
      const [all, own] = [await count({}), await count({ customerId: customer.id })];
      return { link: body[0]?.link, all, own, links: await count({ groupBy: 'top_links' }) };
    };
    const before = await numbers();
    expect(before).toMatchObject({
      link: { clicks: 1, leads: 1, conversions: 1, sales: 1, saleAmount: 2900 },
      all: { clicks: 2, leads: 1, sales: 1, saleAmount: 2900 },
      own: { clicks: 1, leads: 1, sales: 1, saleAmount: 2900 },
    });
    await query.catalog.customers.remove(other.id, customer.id);
    expect(await other.events({ event: 'sales' })).toMatchObject({
      body: [{ customer: { name: 'Deleted Customer' } }],
    });
    expect(await numbers()).toEqual(before);
    expect(await query.catalog.links.counters(other.id, [before.link!.id])).toEqual(
      new Map([[before.link!.id, expect.objectContaining({ leads: 1, sales: 1, saleAmount: 2900 })]]),
    );
  });

  /** A customer whose row is still in the queue. */
  async function aCustomerInTheQueue(other: TestWorkspace, externalId: string, metAtMs = NOW) {
    const record = draftCustomer(other.id, { externalId, name: 'Ada' }, metAtMs);
    await addPendingCustomer(query.redis, record);
    return record;
  }

  test('a customer whose row is still in the queue is shown, even hours later', async () => {
    const other = await aWorkspace(query);
    const click = other.click(await other.aLink({ key: 'a' }), 90);
    const met = await aCustomerInTheQueue(other, 'new');
    const waiting = await aCustomerInTheQueue(other, 'waiting', NOW - 600 * MINUTE_MS);
    await other.store({ leads: [other.lead(click, met, 1), other.lead(click, waiting, 2)] });
    const { body } = await other.events({ event: 'leads' });
    expect(body).toMatchObject([
      { customer: { id: met.id, externalId: 'new', name: 'Ada' } },
      { customer: { id: waiting.id, externalId: 'waiting', name: 'Ada' } },
    ]);
  });

  test('a removed customer is not shown from the queue, nor a new one with the same external id, nor one of another workspace', async () => {
    const [other, stranger] = [await aWorkspace(query), await aWorkspace(query)];
    const click = other.click(await other.aLink({ key: 'a' }), 30);
    const removed = await aCustomerInTheQueue(other, 'removed');
    const replaced = await aCustomerInTheQueue(other, 'replaced');
    for (const { id } of [removed, replaced]) await query.catalog.customers.remove(other.id, id);
    await aCustomerInTheQueue(other, 'replaced');
    const foreign = await aCustomerInTheQueue(stranger, 'foreign');
    const unknown = [removed, replaced, foreign];
    await other.store({ leads: unknown.map((record, index) => other.lead(click, record, index + 1)) });
    const { body } = await other.events({ event: 'leads' });
    expect(body).toMatchObject(unknown.map(({ id }) => ({ customer: { id, name: 'Deleted Customer' } })));
  });
});

describe('the list of events', () => {
  test('is empty without events', async () => {
    const other = await aWorkspace(query);
    expect(await other.events()).toMatchObject({ status: 200, body: [] });
    expect((await other.events({ event: 'sales', page: '9007199254740991', limit: '1000' })).body).toEqual([]);
  });

  test('has every event once across pages, even with equal timestamps, in both orders', async () => {
    const other = await aWorkspace(query);
    const target = await other.aLink({ key: 'a' });
    const clicks = Array.from({ length: 25 }, (_, index) => other.click(target, Math.floor(index / 10)));
    for (const part of [clicks.slice(0, 9), clicks.slice(9)]) await other.store({ clicks: part });
    const newestFirst = clicks
      .map((row) => ({ id: String(row[2]), ms: Number(row[1]) }))
      .sort((a, b) => b.ms - a.ms || (a.id < b.id ? 1 : -1))
      .map(({ id }) => id);
    for (const [sortOrder, expected] of [
      ['desc', newestFirst],
      ['asc', newestFirst.toReversed()],
    ] as const) {
      const pages = await Promise.all(
        ['1', '2', '3', '4'].map((page) => other.events({ page, limit: '7', sortOrder, order: 'desc' })),
      );
      expect(pages.map(({ body }) => body.length)).toEqual([7, 7, 7, 4]);
      expect(pages.flatMap(({ body }) => ids(body))).toEqual(expected);
    }
  });

  test('excludes events of removed links, and still fills its pages', async () => {
    const other = await aWorkspace(query);
    const [kept, removed] = [await other.aLink({ key: 'kept' }), await other.aLink({ key: 'removed' })];
    const clicks = [kept, removed, kept, removed, kept].map((target, index) => other.click(target, index));
    await other.store({ clicks });
    expect(ids((await other.events({ limit: '2' })).body)).toEqual([clicks[0]![2], clicks[1]![2]]);
    await other.remove(removed);
    const { body } = await other.events({ limit: '2' });
    expect(ids(body)).toEqual([clicks[0]![2], clicks[2]![2]]);
    expect((await other.events({ linkId: removed.id })).body).toEqual([]);
    expect(ids((await other.events({ domain: other.host })).body)).toHaveLength(3);
  });

  test('is not visible to another workspace, even by id', async () => {
    const other = await aWorkspace(query);
    expect((await other.events({ interval: 'all' })).body).toEqual([]);
    expect((await other.events({ interval: 'all', linkId: link.id })).body).toEqual([]);
  });

  test('finds events of more than a hundred matching links, and of a few', async () => {
    const other = await aWorkspace(query);
    const links = await Promise.all(
      Array.from({ length: 103 }, (_, index) =>
        other.aLink({ key: `k${index}`, tenantId: index < 102 ? 'many' : 'few' }),
      ),
    );
    const clicks = [links[0]!, links[101]!, links[102]!].map((target, index) => other.click(target, index));
    await other.store({ clicks });
    expect(ids((await other.events({ tenantId: 'many' })).body)).toEqual([clicks[0]![2], clicks[1]![2]]);
    expect(ids((await other.events({ tenantId: 'few' })).body)).toEqual([clicks[2]![2]]);
    expect(ids((await other.events({ tenantId: '-many' })).body)).toEqual([clicks[2]![2]]);
  });

  test('can be filtered by customer id and by external id', async () => {
    const other = await aWorkspace(query);
    const target = await other.aLink({ key: 'a' });
    const [ada, ben] = [await other.aCustomer({ externalId: 'ada' }), await other.aCustomer({ externalId: 'ben' })];
    const clicks = [other.click(target, 3), other.click(target, 4), other.click(target, 5)];
    await other.store({ clicks, leads: [other.lead(clicks[0]!, ada, 1), other.lead(clicks[1]!, ben, 1)] });
    for (const customerId of [ada.id, 'ext_ada']) {
      expect(ids((await other.events({ customerId })).body)).toEqual([clicks[0]![2]]);
      expect((await other.events({ customerId, event: 'leads' })).body).toHaveLength(1);
    }
    expect((await other.events({ customerId: 'ext_nobody' })).body).toEqual([]);
    expect((await other.events({ customerId: 'cus_nonsense' })).body).toEqual([]);
  });

  test('uses the clock of the service: later events are outside the last 24 hours', async () => {
    const other = await aWorkspace(query);
    const target = await other.aLink({ key: 'a' });
    const clicks = [-1, 0, 24 * 60, 24 * 60 + 1].map((minutesAgo) => other.click(target, minutesAgo));
    await other.store({ clicks });
    expect(ids((await other.events()).body)).toEqual([clicks[1]![2], clicks[2]![2]]);
    expect((await other.events({ start: new Date(NOW + 1).toISOString(), end: '2026-11-21' })).body).toHaveLength(1);
  });
});

describe('the selected link', () => {
  test('is found by domain and key in any case, by external id, and by id', async () => {
    const selections: Record<string, string>[] = [
      { domain: workspace.host, key: 'TRY' },
      { domain: workspace.host.toUpperCase(), key: '/try' },
      { externalId: 'ext_ours/1' },
      { externalId: 'ext_ours/1', domain: 'other.example' },
      { linkId: link.id },
      { linkId: 'ext_ours/1' },
      { linkId: `ext_none,link_none,${link.id}` },
      { linkId: '-ext_none' },
    ];
    for (const selection of selections) {
      expect((await workspace.events(selection)).body, JSON.stringify(selection)).toHaveLength(1);
    }
  });

  test('matches nothing for an unknown external id in `linkId`', async () => {
    expect((await workspace.events({ linkId: 'ext_none' })).body).toEqual([]);
    expect((await workspace.events({ linkId: '-ext_ours/1' })).body).toEqual([]);
    const { status, body } = await workspace.analytics({ linkId: 'ext_ours/1', interval: 'all' });
    expect([status, body]).toMatchObject([200, { clicks: 1 }]);
  });

  test('gives 404 if it does not exist or belongs to another workspace, 400 if the prefix is missing', async () => {
    const other = await aWorkspace(query);
    const selections: Record<string, string>[] = [
      { domain: workspace.host, key: 'none' },
      { externalId: 'ext_none' },
      { externalId: 'ext_' },
    ];
    for (const selection of selections) {
      expect(await workspace.events(selection)).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } });
    }
    expect(await other.events({ domain: workspace.host, key: 'try' })).toMatchObject({ status: 404 });
    expect(await other.events({ externalId: 'ext_ours/1' })).toMatchObject({ status: 404 });
    const { status, body } = await workspace.events({ externalId: 'none' });
    expect([status, body.error.code]).toEqual([400, 'bad_request']);
    expect(body.error.message).toContain('ext_');
  });
});
