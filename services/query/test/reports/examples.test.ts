import { readFileSync } from 'node:fs';
import type { ListedEvent } from '@waymark/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { aWorkspace, MINUTE_MS, NOW, startQuery, type TestQuery, type TestWorkspace } from '../test-query.js';

/** Runs the examples of docs/sql.md, and compares each answer with that of the API to the same question. */

const PAGE = readFileSync(new URL('../../../../docs/sql.md', import.meta.url), 'utf8');
const examples = new Map(
  PAGE.split(/^#{2,3} /m).flatMap((section) => {
    const [, title = '', sql] = /^(.+)\n[\s\S]*?```sql\n([\s\S]+?)\n```/.exec(section) ?? [];
    return sql?.startsWith('SELECT') ? [[title, sql] as const] : [];
  }),
);
const NOVEMBER = { start: '2026-11-01', end: '2026-11-30' };
const DAY_MINUTES = 24 * 60;

type Row = Record<string, string | number | null>;
interface Counted {
  readonly clicks: number;
  readonly leads: number;
  readonly sales: number;
  readonly saleAmount: number;
}

let query: TestQuery;
let workspace: TestWorkspace;
const unused = new Set(examples.keys());
const ada = { externalId: 'ada', name: 'Ada', email: 'ada@example.com', country: 'FR' };

/**
 * A workspace with three links, one of them removed with its events, tags, a folder, a partner, two customers, and sales in two months and
 * currencies.
 */
beforeAll(async () => {
  query = await startQuery(() => NOW);
  workspace = await aWorkspace(query);
  const partner = await query.catalog.partners.create(workspace.id, { name: 'Grace', programId: null });
  const spring = await query.catalog.tags.create(workspace.id, { name: 'spring', color: 'red' });
  const email = await query.catalog.tags.create(workspace.id, { name: 'email', color: 'blue' });
  const folder = await query.catalog.folders.create(workspace.id, { name: 'Campaigns' });
  const first = await workspace.aLink({ key: 'first', partnerId: partner.id, tagIds: [spring.id] });
  const second = await workspace.aLink({ key: 'second', folderId: folder.id, tagIds: [spring.id, email.id] });
  const removed = await workspace.aLink({ key: 'removed' });
  const clicks = [
    workspace.click(first, 60, {
      country: 'US',
      region: 'FL',
      city: 'Tampa',
      continent: 'NA',
      device: 'Mobile',
      browser: 'Chrome',
      os: 'iOS',
      trigger: 'qr',
      referer: 't.co',
      refererUrl: 'https://t.co/x?y=1',
      url: 'https://acme.com/p?utm_source=news&utm_medium=email&utm_campaign=it%27s&utm_term=a&utm_content=b',
    }),
    workspace.click(first, 90),
    workspace.click(first, 5 * DAY_MINUTES, { country: 'Unknown', region: 'Unknown', city: 'Unknown', continent: '' }),
    workspace.click(second, 5 * DAY_MINUTES, { country: 'SG', region: 'Unknown', city: 'Singapore', continent: 'AS' }),
    workspace.click(second, 40 * DAY_MINUTES),
    workspace.click(removed, 10),
    // In Berlin it is November.
    workspace.click(second, 0, { timestampMs: Date.parse('2026-10-31T23:30:00Z') }),
  ] as const;
  const adas = await workspace.aCustomer({ ...ada, clickedAt: new Date(NOW - 90 * MINUTE_MS).toISOString() });
  const gone = await workspace.aCustomer({ externalId: 'gone', country: 'US' });
  const metadata = { plan: 'pro', seats: [1, null] };
  await workspace.store({
    clicks: [...clicks],
    leads: [
      workspace.lead(clicks[1], adas, 80, { metadata }),
      workspace.lead(clicks[0], gone, 50),
      workspace.lead(clicks[5], adas, 9),
    ],
    sales: [
      workspace.sale(clicks[1], adas, 70, { amount: 4_950, invoiceId: 'inv_1', paymentProcessor: 'stripe', metadata }),
      workspace.sale(clicks[1], adas, 20, { amount: 100, saleType: 'recurring', currency: 'jpy' }),
      workspace.sale(clicks[0], gone, 30, { amount: 700 }),
      workspace.sale(clicks[4], gone, 39 * DAY_MINUTES, { amount: 25 }),
      workspace.sale(clicks[5], adas, 5, { amount: 1_000_000 }),
    ],
  });
  await workspace.remove(removed);
  await query.catalog.customers.remove(workspace.id, gone.id);
});
afterAll(() => query.close());

async function run(sql: string): Promise<Row[]> {
  const own = sql.replace("'acme'", `'acme-${workspace.host.split('.')[1]}'`);
  const settings = { output_format_json_quote_64bit_integers: 0 } as const;
  const result = await query.database.client.query({
    query: own,
    format: 'JSONEachRow',
    clickhouse_settings: { ...settings, readonly: '2' },
  });
  return result.json<Row>();
}

function example(title: string): string {
  unused.delete(title);
  const sql = examples.get(title);
  if (sql === undefined) throw new Error(`docs/sql.md has no example ${title}`);
  return sql;
}

async function analytics<Item extends object>(parameters: Record<string, string>): Promise<(Item & Counted)[]> {
  const { status, body } = await workspace.analytics({ ...NOVEMBER, ...parameters });
  expect([status, body]).toEqual([200, expect.anything()]);
  return (Array.isArray(body) ? body : [body]) as (Item & Counted)[];
}

async function events(event: string): Promise<ListedEvent[]> {
  const { status, body } = await workspace.events({ ...NOVEMBER, event });
  expect(status).toBe(200);
  return body;
}

/** The customer of an event, as the views name it: the name of a removed one is in no view. */
const customerOf = (event: ListedEvent) => ('customer' in event && event.customer.externalId === 'ada' ? 'ada' : '');
const counts = ({ clicks, leads, sales, saleAmount }: Counted) => ({ clicks, leads, sales, revenue: saleAmount / 100 });

test('the page has twelve examples', () => {
  expect(examples.size).toBe(12);
});

describe('an example of docs/sql.md answers what the API answers', () => {
  test('clicks by day', async () => {
    const days = await analytics<{ start: string }>({ event: 'clicks', groupBy: 'timeseries' });
    const expected = days.flatMap(({ start, clicks }) => (clicks === 0 ? [] : [{ day: start.slice(0, 10), clicks }]));
    expect(await run(example('Clicks by day'))).toEqual(expected);
    expect(expected).toHaveLength(2);
  });

  test('clicks by day in another zone', async () => {
    const [day, since] = ['`toDate(timestamp, ', '`timestamp >= toDateTime('].map((begin) => {
      const from = PAGE.indexOf(begin) + 1;
      return PAGE.slice(from, PAGE.indexOf('`', from));
    }) as [string, string];
    const until = since.replace('>=', '<').replace('2026-11-01', '2026-12-01');
    const sql = example('Clicks by day')
      .replace('toDate(timestamp)', day)
      .replace("timestamp >= '2026-11-01'", since)
      .replace("timestamp < '2026-12-01'", until);
    const days = await analytics<{ start: string }>({
      ...{ event: 'clicks', groupBy: 'timeseries', timezone: 'Europe/Berlin' },
    });
    const expected = days.flatMap(({ start, clicks }) => (clicks === 0 ? [] : [{ day: start.slice(0, 10), clicks }]));
    expect(await run(sql)).toEqual(expected);
    expect(expected.map((row) => row.day)).toContain('2026-11-01');
  });

  test.each([
    ['country', 'countries', 'country'],
    ['continent', 'continents', 'continent'],
    ['region', 'regions', 'region'],
    ['city', 'cities', 'city'],
    ['device', 'devices', 'device'],
    ['browser', 'browsers', 'browser'],
    ['os', 'os', 'os'],
    ['trigger', 'triggers', 'trigger'],
    ['referer', 'referers', 'referer'],
    ['referer_url', 'referer_urls', 'refererUrl'],
    ['url', 'top_urls', 'url'],
    ['utm_source', 'utm_sources', 'utm_source'],
    ['utm_medium', 'utm_mediums', 'utm_medium'],
    ['utm_campaign', 'utm_campaigns', 'utm_campaign'],
    ['utm_term', 'utm_terms', 'utm_term'],
    ['utm_content', 'utm_contents', 'utm_content'],
  ])('clicks by %s', async (column, groupBy, field) => {
    const groups = await analytics<Row>({ event: 'clicks', groupBy });
    const sql = example('Clicks by country').replaceAll('country', column);
    expect(await run(sql)).toEqual(groups.map((group) => ({ [column]: group[field], clicks: group.clicks })));
    expect(groups.length).toBeGreaterThan(0);
  });

  test('top links, without the removed one', async () => {
    const links = await analytics<{ shortLink: string }>({ event: 'clicks', groupBy: 'top_links' });
    const expected = links.map(({ shortLink, clicks }) => ({ short_link: shortLink, clicks }));
    expect(await run(example('Top links'))).toEqual(expected);
    expect(expected.map(({ clicks }) => clicks)).toEqual([3, 1]);
  });

  test('leads with their link and customer', async () => {
    const leads = await events('leads');
    const expected = leads.map((lead) => ({
      timestamp: lead.timestamp,
      event_name: 'eventName' in lead && lead.eventName,
      short_link: lead.link.shortLink,
      customer: customerOf(lead),
      country: lead.click.country,
      plan: ('metadata' in lead && (lead.metadata as { plan?: string } | null)?.plan) || null,
    }));
    expect(await run(example('Leads with their link and customer'))).toEqual(expected);
    expect(expected.map(({ plan }) => plan)).toEqual([null, 'pro']);
  });

  test('sales with amount, currency and customer', async () => {
    const sales = await events('sales');
    const expected = sales.flatMap((sale) =>
      'sale' in sale
        ? {
            timestamp: sale.timestamp,
            invoice_id: sale.sale.invoiceId,
            amount: sale.sale.amount / 100,
            currency: sale.sale.currency,
            payment_processor: sale.sale.paymentProcessor,
            short_link: sale.link.shortLink,
            customer: customerOf(sale),
          }
        : [],
    );
    expect(await run(example('Sales with amount, currency and customer'))).toEqual(expected);
    expect(expected.map(({ currency }) => currency)).toEqual(['jpy', 'usd', 'usd']);
  });

  test('conversion by link', async () => {
    const links = await analytics<{ shortLink: string }>({ event: 'composite', groupBy: 'top_links' });
    const expected = links.map((link) => ({
      short_link: link.shortLink,
      ...counts(link),
      lead_rate: link.leads / link.clicks,
    }));
    expect(await run(example('Conversion by link'))).toEqual(expected);
    expect(expected[0]).toMatchObject({ leads: 2, sales: 3, revenue: 57.5 });
  });

  test('conversion by partner', async () => {
    const partners = await analytics<{ partner: { name: string } }>({ event: 'composite', groupBy: 'top_partners' });
    const expected = partners.map((row) => ({ partner: row.partner.name, ...counts(row) }));
    expect(await run(example('Conversion by partner'))).toEqual(expected);
    expect(expected).toHaveLength(1);
  });

  test('clicks by tag', async () => {
    const tags = await analytics<{ tag: { name: string } }>({ event: 'clicks', groupBy: 'top_link_tags' });
    const expected = tags.map(({ tag, clicks }) => ({ tag: tag.name, clicks }));
    expect(await run(example('Clicks by tag'))).toEqual(expected);
    expect(expected).toEqual([
      { tag: 'spring', clicks: 4 },
      { tag: 'email', clicks: 1 },
    ]);
  });

  test('clicks by folder', async () => {
    const folders = await analytics<{ folder: { name: string } }>({ event: 'clicks', groupBy: 'top_folders' });
    const expected = folders.map(({ folder, clicks }) => ({ folder: folder.name, clicks }));
    expect(await run(example('Clicks by folder'))).toEqual(expected);
    expect(expected).toEqual([{ folder: 'Campaigns', clicks: 1 }]);
  });

  test('revenue by month', async () => {
    const year = { start: '2026-01-01', end: '2026-12-31' };
    const months = await analytics<{ start: string }>({ ...year, event: 'sales', groupBy: 'timeseries' });
    const expected = months.flatMap(({ start, sales, saleAmount }) =>
      sales === 0 ? [] : [{ month: start.slice(0, 10), sales, revenue: saleAmount / 100 }],
    );
    expect(await run(example('Revenue by month'))).toEqual(expected);
    expect(expected).toHaveLength(2);
  });

  test('new against recurring sales', async () => {
    const of = async (saleType: string) => {
      const [row] = await analytics({ event: 'sales', saleType });
      return { sale_type: saleType, sales: row?.sales, revenue: (row?.saleAmount ?? 0) / 100 };
    };
    expect(await run(example('New against recurring sales'))).toEqual([await of('new'), await of('recurring')]);
  });

  test('from the first click to the first sale', async () => {
    const [customer] = (await events('sales')).flatMap((sale) =>
      'customer' in sale && sale.customer.externalId === 'ada' ? [sale.customer] : [],
    );
    const firstClick = new Date(NOW - 90 * MINUTE_MS).toISOString();
    expect(await run(example('From the first click to the first sale'))).toEqual([
      { customer: 'ada', first_click: firstClick, first_sale: customer?.firstSaleAt, minutes: 20 },
    ]);
  });

  test('none is left out', () => {
    expect([...unused]).toEqual([]);
  });
});
