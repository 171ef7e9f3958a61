import { parseResourceId } from '@waymark/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SourceClient } from '../../src/apis/source-client.js';
import { dubHistory } from '../../src/history/dub-history.js';
import { type HistorySource, ImportError } from '../../src/index.js';
import type { StubAnswer } from '../apis/stub-server.js';
import { anAccount, dub, linkOf, pagesOf } from './dub-account.js';
import { aDeletedCustomer, aDubClick, aDubCustomer, aDubLead, aDubSale, dubClickId, emptyAccount } from './stub-dub.js';
import { startHistory, type TestHistory } from './test-history.js';

let history: TestHistory;
beforeAll(async () => {
  history = await startHistory();
});
afterAll(() => history.close());

describe('the history of dub', () => {
  it('becomes clicks, leads, sales and customers with their own times, and counters as if they had been sent', async () => {
    const acme = await history.workspace();
    const stub = await dub(anAccount());
    const first = await history.api(acme, 'dub', stub.address);
    expect(first).toMatchObject({ read: 10, clicks: 2, leads: 2, sales: 3, customers: 3, repeated: 2, rejected: 0 });

    const { link, object } = await linkOf(history, acme, 'try');
    expect(object).toMatchObject({ clicks: 1, leads: 1, conversions: 1, sales: 2, saleAmount: 9800 });
    expect(object?.lastClicked).toBe('2023-01-31T23:59:59.001Z');
    const clicks = await history.rows(acme, 'click_events');
    const click = clicks.find(({ link_id }) => link_id === parseResourceId('link', link.id));
    expect(click).toMatchObject({
      ...{ timestamp: '2023-01-31T23:59:59.001Z', trigger: 'qr', country: 'US', region: 'TX', city: 'Austin' },
      ...{ continent: 'NA', device: 'Mobile', browser: 'Chrome', os: 'iOS', referer: 'news.test', utm_source: 'news' },
      ...{ url: 'https://a.test/try?utm_source=news', referer_url: 'https://news.test/a', ip: '' },
    });
    const [lead] = (await history.rows(acme, 'lead_events')).filter(({ click_id }) => click_id === click?.click_id);
    expect(lead).toMatchObject({
      ...{ timestamp: '2023-02-01T00:00:00.000Z', event_name: 'Sign up', metadata_kv: ['plan=pro', 'seats=3'] },
      ...{ click_timestamp: click?.timestamp, city: 'Austin', country: 'US' },
    });
    const sales = (await history.rows(acme, 'sale_events')).toSorted((a, b) =>
      String(a.timestamp) < String(b.timestamp) ? -1 : 1,
    );
    expect(sales.map(({ amount, invoice_id, sale_type }) => [Number(amount), invoice_id, sale_type])).toEqual([
      [4900, 'in_1', 'new'],
      [4900, 'in_2', 'recurring'],
      [100, '', 'new'],
    ]);
    expect(JSON.parse(String(sales[1]?.payload))).toMatchObject({
      metadata: { term: 'year' },
      sale: { currency: 'usd' },
    });
    expect(JSON.parse(String(sales[0]?.payload)).metadata).toBeNull();
    expect(JSON.parse(String(sales[2]?.payload))).toMatchObject({
      sale: { currency: 'eur', paymentProcessor: 'custom' },
    });
    expect(JSON.parse(String(sales[2]?.payload)).metadata).toEqual({});

    const ada = await history.catalog.customers.findByExternalId(acme.id, 'user-1');
    expect(ada).toMatchObject({
      ...{ name: 'User 1', email: 'u1@b.test', avatar: 'https://b.test/1.png', country: 'US' },
      ...{ createdAt: '2023-02-01T00:00:00.000Z', linkId: link.id, clickId: click?.click_id },
      clickedAt: '2023-01-31T23:59:59.001Z',
    });
    const totals = await history.catalog.customers.counters(acme.id, [ada?.id ?? '']);
    expect(totals.get(ada?.id ?? '')).toEqual({ sales: 2, saleAmount: 9800, firstSaleAt: '2023-03-01T00:00:00.000Z' });
    const lonely = await history.catalog.customers.findByExternalId(acme.id, 'user-3');
    expect(lonely).toMatchObject({ createdAt: '2022-01-01T00:00:00.000Z', linkId: link.id, clickId: null });
  });

  it('is imported again without a change, and later events are added', async () => {
    const acme = await history.workspace();
    const account = anAccount();
    const stub = await dub(account);
    await history.api(acme, 'dub', stub.address);
    const before = await linkOf(history, acme, 'try');
    const again = await history.api(acme, 'dub', stub.address);
    expect(again).toMatchObject({ clicks: 0, leads: 0, sales: 0, customers: 0, repeated: 10 });
    expect(await linkOf(history, acme, 'try')).toEqual(before);
    account.clicks.push(aDubClick(7, '2025-01-01T00:00:00.000Z'));
    expect(await history.api(acme, 'dub', stub.address)).toMatchObject({ clicks: 1, repeated: 10 });
    expect((await linkOf(history, acme, 'try')).object).toMatchObject({ clicks: 2 });
  });

  it('counts no usage, whatever the month of the events is', async () => {
    const acme = await history.workspace();
    const account = anAccount();
    account.clicks.push(aDubClick(8, new Date().toISOString()));
    await history.api(acme, 'dub', (await dub(account)).address);
    expect(await history.catalog.eventUsage.thisMonth(acme.id)).toBe(0);
    expect((await linkOf(history, acme, 'try')).object).toMatchObject({ clicks: 2 });
  });

  it('takes the place of a baseline, and a later import of counts adds none', async () => {
    const acme = await history.workspace();
    const counts = 'url,key,clicks,sales\nhttps://a.test/try,try,90,9\nhttps://a.test/old,old,5,\n';
    await history.table(acme, counts, { history: 'counts' });
    expect((await linkOf(history, acme, 'try')).object).toMatchObject({ clicks: 90, sales: 9 });
    const stub = await dub(anAccount());
    await history.api(acme, 'dub', stub.address);
    expect((await linkOf(history, acme, 'try')).object).toMatchObject({ clicks: 1, sales: 2 });
    // A link without past events keeps its counts.
    expect((await linkOf(history, acme, 'old')).object).toMatchObject({ clicks: 5 });
    const later = await history.table(acme, counts, { history: 'counts', onConflict: 'update' });
    expect((await linkOf(history, acme, 'try')).object).toMatchObject({ clicks: 1, sales: 2 });
    expect(later.losses.map(({ reason }) => reason).join()).toContain('its past events are stored');
  });

  it('is complete when pages shift while they are read, with many events at one time and a 429 in the middle', async () => {
    const acme = await history.workspace();
    const account = anAccount();
    const base = Date.UTC(2023, 5, 1);
    // Seven at each time, so that pages end in the middle of one.
    account.clicks.push(
      ...Array.from({ length: 2400 }, (_, n) => aDubClick(100 + n, new Date(base + Math.floor(n / 7)).toISOString())),
    );
    account.clicks.push(...Array.from({ length: 1100 }, (_, n) => aDubClick(5000 + n, '2023-07-01T00:00:00.000Z')));
    let secondPages = 0;
    const stub = await dub(account, ({ path, query }) => {
      if (path !== '/events' || query.event !== 'clicks' || query.page !== '2') return undefined;
      secondPages++;
      if (secondPages === 1) return { status: 429, headers: { 'retry-after': '7' } };
      // Events vanish before what was read, and others appear: the numbers of pages are different from now on.
      if (secondPages === 2) account.clicks.splice(10, 300, aDubClick(9000, '2023-01-31T23:59:59.500Z'));
      return undefined;
    });
    const { clicks } = await history.api(acme, 'dub', stub.address);
    expect(history.waits).toContain(7000);
    // All that were there at the start, though 300 of them vanished after the first page of their day, which had them.
    expect(clicks).toBe(2 + 2400 + 1100);
  });

  it('has the milliseconds of its events, which dub lists for clicks only', async () => {
    const acme = await history.workspace();
    const account = anAccount();
    const [click] = account.clicks;
    if (click === undefined) throw new Error('no click');
    account.leads.push(aDubLead(3, '2024-03-04T12:30:45.678Z', click, aDubCustomer(1)));
    await history.api(acme, 'dub', (await dub(account)).address);
    const times = (await history.rows(acme, 'lead_events')).map(({ timestamp }) => timestamp);
    expect(times).toContain('2024-03-04T12:30:45.678Z');
  });

  it('does not end at a page that lacks the events of deleted links, or that has no other', async () => {
    const acme = await history.workspace();
    const account = anAccount();
    account.deletedKeys.add('gone');
    const many = Array.from({ length: 4500 }, (_, n) =>
      aDubClick(100 + n, '2023-05-01T00:00:00.000Z', { key: 'gone' }),
    );
    account.clicks.push(
      ...many,
      aDubClick(9001, '2023-05-01T12:00:00.000Z'),
      aDubClick(9002, '2023-05-02T12:00:00.000Z'),
    );
    const counts = await history.api(acme, 'dub', (await dub(account)).address);
    expect(counts).toMatchObject({ clicks: 4, leads: 2, sales: 3, rejected: 0 });
  });

  it('has the leads and sales of customers that were deleted, whose names and emails stay unknown', async () => {
    const acme = await history.workspace();
    const account = anAccount();
    const [click] = account.clicks;
    if (click === undefined) throw new Error('no click');
    const deleted = aDeletedCustomer('cus_deleted');
    account.leads.push(aDubLead(3, '2024-03-04T12:30:45.678Z', click, deleted));
    // As earlier versions of dub answer them.
    const { externalId: _id, createdAt: _time, ...old } = deleted;
    account.sales.push(aDubSale(9, '2024-03-05T00:00:00.000Z', click, old));
    const counts = await history.api(acme, 'dub', (await dub(account)).address);
    expect(counts).toMatchObject({ leads: 3, sales: 4, rejected: 0 });
    const customer = await history.catalog.customers.findByExternalId(acme.id, 'cus_deleted');
    expect(customer).toMatchObject({ name: null, email: null, avatar: null });
    expect(Date.parse(customer?.createdAt ?? '')).toBeGreaterThan(Date.UTC(2026, 0, 1));
  });

  it('has all customers, also those that dub itself has imported, with new ids and old times', async () => {
    const acme = await history.workspace();
    const account = anAccount();
    const customer = (n: number, year: number) => aDubCustomer(n, { createdAt: `${year}-01-01T00:00:00.000Z` });
    account.customers.push(...Array.from({ length: 250 }, (_, n) => customer(100 + n, 2023)));
    account.customers.push(...Array.from({ length: 120 }, (_, n) => customer(1000 + n, 2015)));
    const counts = await history.api(acme, 'dub', (await dub(account)).address);
    expect(counts).toMatchObject({ customers: 3 + 370, repeated: 2 });
  });

  it('goes on after a customer was deleted at whom an earlier run has ended', async () => {
    const account = anAccount();
    const { address } = await dub(account);
    const at = { step: 3, start: 'cus_gone', page: 1, row: 2, end: '2026-01-01T00:00:00.000Z', seen: [] };
    for (const parameter of ['startingAfter', 'endingBefore']) {
      const cursor = { parameter, id: 'cus_gone', pivot: 'cus_gone' };
      const customers = await pagesOf(address, { ...at, cursor });
      expect(customers.map((event) => event.kind === 'customer' && event.externalId).toSorted()).toEqual([
        'user-1',
        'user-2',
        'user-3',
      ]);
    }
  });

  it('of many events is read in a bounded number of requests', async () => {
    const account = anAccount();
    const base = Date.UTC(2023, 5, 1);
    const clicks = Array.from({ length: 12_000 }, (_, n) => aDubClick(n, new Date(base + n * 30_000).toISOString()));
    account.clicks.splice(0, 2, ...clicks);
    const stub = await dub(account);
    const rows = await pagesOf(stub.address, undefined);
    expect(rows.filter(({ kind }) => kind === 'click').length).toBe(12_000);
    // Twelve pages; some events of a day are on two of them, and the end of each page within a day is looked at again.
    expect(stub.requests.filter(({ query }) => query.event === 'clicks').length).toBeLessThan(50);
  });

  it.each([
    ['from the start', 1],
    ['after the last page of the day', 4],
  ])(
    'of a day that goes on is read once: clicks that are recorded %s are left to a later import',
    async (_when, page) => {
      const account = emptyAccount();
      const nowMs = Date.now();
      const today = new Date(nowMs).toISOString().slice(0, 10);
      account.clicks.push(...Array.from({ length: 2400 }, (_, n) => aDubClick(n, `${today}T00:00:00.000Z`)));
      let later = 5000;
      const stub = await dub(account, ({ path, query }) => {
        if (path === '/events' && query.event === 'clicks' && Number(query.page) >= page)
          account.clicks.push(aDubClick(later++, `${today}T23:59:59.999Z`));
        return undefined;
      });
      expect((await pagesOf(stub.address, undefined, () => nowMs)).length).toBe(2400);
      // Three pages from the first start and from the day of their events, and a look at the page before.
      expect(stub.requests.filter(({ query }) => query.event === 'clicks').length).toBeLessThan(15);
    },
  );

  it('is continued from the position that an earlier version has stored', async () => {
    const account = anAccount();
    const { address } = await dub(account);
    const old = {
      step: 0,
      start: '2020-01-01T00:00:00.000Z',
      page: 1,
      row: 0,
      end: '2026-01-01T00:00:00.000Z',
      seen: [],
    };
    expect((await pagesOf(address, old)).length).toBe(10);
    const clicks = { ...old, start: '2024-02-01T00:00:00.002Z', row: 2, seen: [dubClickId(2)] };
    expect((await pagesOf(address, clicks)).map(({ kind }) => kind)).toEqual([
      ...['lead', 'lead', 'sale', 'sale', 'sale', 'customer', 'customer', 'customer'],
    ]);
    const customers = await pagesOf(address, { ...old, step: 3, start: 'cus_000002' });
    expect(customers.map((event) => event.kind === 'customer' && event.externalId)).toEqual(['user-3', 'user-1']);
  });

  it('of another Waymark, which takes times exactly, has events before those of dub', async () => {
    const account = anAccount();
    account.clicks.push(aDubClick(7, '2015-01-01T00:00:00.003Z'));
    const stub = await dub(account, ({ path, query }) => {
      const { event = '', start = '', end = '', page = '1' } = query;
      if (path !== '/events') return undefined;
      const events = (account as unknown as Record<string, { readonly timestamp: string }[]>)[event] ?? [];
      const found = events.filter(({ timestamp }) => timestamp >= start && timestamp <= end);
      const sorted = found.toSorted((one, other) => (one.timestamp < other.timestamp ? -1 : 1));
      return { json: page === '1' ? sorted : [] };
    });
    const times = (await pagesOf(stub.address, undefined)).flatMap((event) =>
      event.kind === 'click' ? event.timeMs : [],
    );
    expect(times.map((ms) => new Date(ms).toISOString())).toEqual([
      ...['2015-01-01T00:00:00.003Z', '2023-01-31T23:59:59.001Z', '2024-02-01T00:00:00.002Z'],
    ]);
  });

  it.each<[string, StubAnswer]>([
    ['the same page', { json: [aDubClick(1, '2023-01-31T23:59:59.001Z')] }],
    ['events without a time', { json: [{ event: 'click', click: { id: 'a' } }] }],
  ])('ends when the source answers %s again and again', async (_what, answer) => {
    const stub = await dub(anAccount(), ({ path }) => (path === '/events' ? answer : undefined));
    await expect(pagesOf(stub.address, undefined)).rejects.toThrow('the same page again and again');
  });

  it('ends when the source counts events that it never lists', async () => {
    const client: SourceClient = {
      getJson: async (url) => (url.includes('/analytics?') ? { clicks: 1e15 } : []),
    };
    const source = dubHistory({ client, address: '', identity: 'none', now: Date.now });
    let pages = 0;
    const reading = (async () => {
      for await (const { items } of source.read(undefined)) pages += 1 + items.length;
    })();
    await expect(reading).rejects.toThrow('lists none of them');
    // A deleted link may have had millions of clicks in a row.
    expect(pages).toBe(49_999);
  });

  it('goes on behind pages without an event where an earlier run has ended', async () => {
    const acme = await history.workspace();
    const starts: (string | undefined)[] = [];
    const source: HistorySource = {
      identity: 'empty-pages',
      async *read(from) {
        starts.push(from);
        for (let page = 1; page <= 250; page++) yield { items: [], next: JSON.stringify(page) };
        if (from === undefined) throw new ImportError('the source is away');
      },
    };
    await expect(history.events(acme, source)).rejects.toThrow('the source is away');
    await history.events(acme, source);
    expect(starts).toEqual([undefined, '200']);
  });
});
